package run

// mostUsed are the flags of 'run' that --help shows.
const mostUsed = "no-wait wait busy-code ttl max-hold min-hold every shared exclusive of"

const helpText = `Run COMMAND while holding the lock NAME. While another process holds it, wait in a
queue. The exit code is the command's own.

THE COMMAND
Standard input, output and error are passed through. There is no shell: to use one,
run sh -c '...'. If signal n kills the command, the exit code is 128+n.

The command gets our environment and three variables: HOLDFAST_NAME, HOLDFAST_OWNER
and HOLDFAST_TOKEN. The last one is the fencing token: the resource should refuse a
lower token than the highest it has seen. HOLDFAST_REDIS_URL stays as it was, so that
holdfast inside the command uses the same server. If the command must not see the
password in it, use --redis instead of the variable.

When the command ends, holdfast kills the processes that the command left in the
background. Then it releases the lock.

WAITING
Without -n or -w the wait has no limit. Waiters are served in order. On a terminal one
line shows the place in the queue, an estimate of the wait, and the holder. The estimate
uses the usual hold time of NAME in the journal: what the holder has left of it, plus
one hold time for each waiter in front. Without a terminal one line is printed when the wait
begins.

A LOST LEASE
holdfast renews the lease every third of --ttl. If the lease is lost, the command and
the processes that it started get TERM, and KILL after --grace. If Redis becomes
unreachable, they are dead before the lease ends in Redis. If the key was deleted or
overwritten, holdfast notices that at its next renewal, at most a third of --ttl later.
Until then another process may hold the lock at the same time.

A guard process stops the command even if holdfast itself is killed or frozen. The
guard cannot stop:

  - the command, while the guard is frozen too
  - a process that now belongs to another user
  - work that the command gave to a daemon, such as docker or at

This is so on Linux. On other Unix systems the guard does not find processes that leave
the process group of the command. On Windows there is no guard, and holdfast kills only
the command itself.

KINDS OF LOCKS
All commands that use NAME must use the same kind, else nothing is run (exit code 64):

  no flag           a mutex: one holder at a time
  -s, --shared      a reader: holds the lock together with other readers
  -x, --exclusive   a writer: holds the lock alone
  --of SIZE         a semaphore: all holders together have at most SIZE permits

--permits N takes more than one permit. The first use of a semaphore sets SIZE. Redis
keeps SIZE for 30 days from each use, and 'holdfast resize' changes it. A command that
asks for another SIZE gets the stored one, and a message.

A reader waits behind a writer that came before it. --min-hold and --every need a
mutex. With --shared and --of several tokens are valid at a time, so the resource must
not refuse the lower ones.

REPLICAS
With --wait-replicas N the command starts when N replicas have the lock. A renewal
counts when N replicas have it. So a failover to one of them keeps the lock. N must be
the number of all replicas that can become master. If one of them is missing, no command
starts, and a command that runs is stopped before its lease ends.

SCHEDULES
With --every PERIOD you can put the same line into the crontab of each machine: COMMAND
runs once for each tick. --at sets the time of one tick, in UTC; the others are whole
periods before and after it. Without --at the time of the first start of NAME becomes a
tick. PERIOD is at most 744h (31 days).

A start belongs to the tick that is nearest by the clock of Redis. So a start may come
up to half of PERIOD early or late. Without --at it may come up to a quarter of PERIOD
early or late, because the first start can be early or late itself.

If the tick of a start has begun already, holdfast does not wait. It prints which
machine ran the command and the result, and exits with 75 (see -E). A command that
failed or was killed has used its tick, and is not run again for it. 'holdfast show'
shows the result. To repeat it by hand, use 'holdfast run -n NAME' without --every.

A tick is skipped if NAME is still held, by the command of an earlier tick or by a run
by hand, or if no machine starts it in time. After holdfast or its machine was killed,
ticks are skipped until --ttl has passed.

All commands for NAME must give the same PERIOD and --at. A command that gives another
one is not run (exit code 64). A command without --at uses the ticks that Redis stores
for NAME. To change the schedule, use another NAME.

LIMITS OF THE HOLD TIME
With --min-hold D no other process gets the lock before D has passed since the grant,
even if the command is quicker, or this process or machine dies. 'holdfast show' calls
that a cool-down. D is at most 31 days. --min-hold is not a schedule: with -n, a start
shortly before D is over is skipped. To run once per period, use --every.

With --max-hold D the command gets TERM when it has run for D, and KILL after --grace.
The lock is held until all processes of the command are dead.

TAKING THE LOCK FROM ITS HOLDER
--steal HASH --reason TEXT takes the lock from the holder with this hash, as 'holdfast
steal' does. 'holdfast show' prints the hash. COMMAND runs at once, before all waiters.
UNTIL THE OLD HOLDER IS NOTIFIED, TWO COMMANDS RUN. If the holder of HASH does not hold
the lock any more, nothing is changed (exit code 75).

DETAILS AND JOURNAL
While COMMAND waits or runs, 'holdfast show' shows its host, pid and user, COMMAND with
anything that looks like a password hidden, and --note TEXT. Every user that can
read Redis sees that: --no-details stores none of it.

Each run is written to a journal in Redis, for 'holdfast history', 'watch', 'audit' and
'jobs'. If the lock is held and COMMAND does not run, that is written too. It is not
written if another machine has begun the tick of --every. The journal never delays
COMMAND. With --no-journal nothing is written.

SIGNALS
HUP, INT, QUIT, TERM, USR1, USR2, WINCH and CONT are passed on to the command, and
holdfast ends when the command ends. During the wait the first four end holdfast with
code 128+n, and nothing is run. A signal that was ignored at the start (nohup) stays
ignored. The command has no controlling terminal: ctrl-C reaches it through holdfast.
ctrl-Z has no effect, because a stopped command would keep the lock.

` + statusFileHelp + `

EXIT CODES
The command's own, or:
   64  the command line is wrong, the URL does not fit the server, or NAME has
       another kind or another schedule
   69  Redis is unreachable: unknown whether NAME is held; or too few replicas have
       the lock (--wait-replicas), and it was released
   70  another error
   75  NAME is held (-n, -w), the tick has begun (--every), or another holder than
       HASH holds it (--steal); -E changes this code
   77  Redis refused: password, user or rights
   78  --status-file cannot be written
  122  the lease was lost, even if the command's own code was 0
  124  the command was stopped at --max-hold
  126  COMMAND cannot be executed
  127  COMMAND was not found
 128+n signal n ended the wait, or the command`

const exampleText = `  holdfast run nightly -- ./backup           wait for the lock, then run
  holdfast run -n nightly -- ./backup        run now, or exit with 75
  holdfast run -w 30s deploy -- sh -c 'make && make install'

  # crontab of each machine: one of them runs the command, once per night, and
  # at ten past each hour; cron mails output only, so print a failure
  HOLDFAST_REDIS_URL=redis://redis.internal:6379
  PATH=/usr/local/bin:/usr/bin:/bin
  0 3 * * *  holdfast run -qE0 --every 24h nightly -- backup || echo "rc $?"
  10 * * * * holdfast run -qE0 --every 1h --at 10m sync -- sync || echo "rc $?"

  # many readers or one writer; at most four builds at a time
  holdfast run --shared index -- ./report
  holdfast run --exclusive index -- ./rebuild
  holdfast run --of 4 builds -- make

  # survive one minute without Redis
  holdfast run --ttl 1m import -- ./import

  # one deployment at a time; find out why it did not run
  holdfast run -w 10m deploy:web -- ./deploy.sh
  case $? in 75) echo busy;; 69) echo no Redis;; 122) echo stopped midway;; esac`
