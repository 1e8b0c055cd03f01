package main

const electHelp = `Run COMMAND on one of many machines: on the one that leads the election NAME. When
the leader stops or dies, the next candidate in the queue leads and runs COMMAND.

TERMS
Each machine runs 'holdfast elect' with the same NAME. One of them leads and runs
COMMAND. The others wait in a queue. If the lease is lost, the command is stopped as
by 'holdfast run', before another machine leads. Then we campaign again.

When COMMAND ends, with any exit code, we resign, pause, and campaign again at the end
of the queue. The pause is 1 s. It doubles up to 30 s each time COMMAND lasted less
than 30 s. So this command ends by a signal, or by an error that does not pass. With
--once it ends after its first term.

THE LEADER
Others see the leader's --value, such as its address: at most 64 printable bytes,
without "|". The number of the term is a fencing token: it rises from leader to
leader. A resource that refuses a lower token than the highest it has seen is safe
from a former leader that was paused.

The command gets our environment and four variables: HOLDFAST_NAME, HOLDFAST_OWNER,
HOLDFAST_VALUE, and the term in HOLDFAST_TOKEN.

'holdfast show' shows each candidate with the details that 'holdfast run' stores. See
--note and --no-details.

A lock of the same NAME by 'holdfast run' excludes all candidates. Observers see its
owner, without a term, at most 15 s later.

SIGNALS
They are passed on to the command as by 'holdfast run'. After HUP, INT, QUIT or TERM
holdfast ends when the command ends, and resigns, so that the next one leads at once.
During the wait these signals end holdfast with code 128+n. While Redis is unreachable,
holdfast retries.

OBSERVERS
--observe runs nothing. It prints one line on stdout for the current leader and one for
each change, until ctrl-C, or until the reader of stdout is gone. With -o json each
line is an object:

  at      the time by our clock
  name    the name
  leader  null if there is no leader, or: value, term (0: unknown), hash (names the
          tenure), foreign (not made by holdfast), remaining_ms (until the lease
          ends unless renewed; null: no expiry)
  error   null, or why the leader is unknown; another line follows when it is known

EXIT CODES
As of 'holdfast run', for the last term. A lost lease (122) and an unreachable Redis
(69) end this command only with --once, or at its start.`

const electExample = `  holdfast elect --value 10.0.0.3:8080 scheduler -- ./scheduler
  holdfast elect --observe scheduler         print the leader, and each change
  holdfast elect --once --ttl 5s boss -- ./boss

  holdfast elect --observe scheduler -o json | jq -r '.leader.value // "none"'`
