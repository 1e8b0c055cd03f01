package elect

const helpText = `Run COMMAND on one of many machines: on the one that leads the election NAME. When
the leader stops or dies, the next candidate in the queue leads and runs COMMAND.

TERMS
Each machine runs 'holdfast elect' with the same NAME. One of them leads and runs
COMMAND. The others wait in a queue. If the lease is lost, holdfast stops the command as
'holdfast run' does, before another machine leads. Then this machine waits again at the
end of the queue. While Redis is unreachable, holdfast retries.

When COMMAND ends, with any exit code, this machine gives up the lead and pauses. Then
it waits again at the end of the queue. The pause is 1 s. It doubles, up to 30 s, each
time COMMAND ran for less than 30 s. So 'holdfast elect' ends only after a signal or a
permanent error. With --once it ends after its first term.

THE LEADER
Others see the leader's --value, such as its address: at most 64 printable bytes,
without "|". The number of the term is a fencing token: it rises from leader to
leader. A resource that refuses a lower token than the highest it has seen is safe
from a former leader that was paused.

The command gets the environment of holdfast and four more variables: HOLDFAST_NAME,
HOLDFAST_OWNER, HOLDFAST_VALUE, and HOLDFAST_TOKEN with the number of the term.

'holdfast show' shows each candidate with the details that 'holdfast run' stores. See
--note and --no-details.

While 'holdfast run' holds a lock of the same NAME, no candidate leads. Observers see
the owner of that lock, without a term, at most 15 s later.

SIGNALS
holdfast passes them on to the command, as 'holdfast run' does. After HUP, INT, QUIT or
TERM holdfast ends when the command ends. It releases the lead, so that the next
candidate leads at once. During the wait these signals end holdfast with code 128+n.

OBSERVERS
--observe runs nothing. It prints one line on stdout for the current leader, and one for
each change. It ends at ctrl-C, or when the reader of stdout is gone. While Redis is
unreachable, it retries. With -o json each line is an object:

  at      the time by our clock
  name    the name
  leader  null if there is no leader, or: value, term (0: unknown), hash (names the
          tenure), foreign (not made by holdfast), remaining_ms (until the lease
          ends unless renewed; null: no expiry)
  error   null, or why the leader is unknown; another line follows when it is known

EXIT CODES
Those of 'holdfast run', for the last term. A lost lease (122) and an unreachable Redis
(69) end this command only with --once, or when it starts.`

const exampleText = `  holdfast elect --value 10.0.0.3:8080 scheduler -- ./scheduler
  holdfast elect --observe scheduler         print the leader, and each change
  holdfast elect --once --ttl 5s boss -- ./boss

  holdfast elect --observe scheduler -o json | jq -r '.leader.value // "none"'`
