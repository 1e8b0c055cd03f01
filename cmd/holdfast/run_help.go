package main

// runMostUsed are the flags of 'run' that --help shows.
const runMostUsed = "no-wait wait busy-code ttl max-hold min-hold every shared exclusive of"

const runHelp = `Run COMMAND while holding the lock NAME. While another process holds it, wait in a
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
line shows the place in the queue, an estimate of the wait, and the holder. The
estimate is the usual hold time of NAME by the journal, for each waiter before.
Elsewhere one line is printed when the wait begins.

A LOST LEASE
holdfast renews the lease every third of --ttl. If the lease is lost, the command and
the processes that it started get TERM, and KILL after --grace. While Redis is
unreachable, they are dead before the lease ends in Redis. If the key was deleted or
overwritten, holdfast notices at its next renewal, at most a third of the ttl later.
Another process may run until then.

A guard process stops the command even if holdfast itself is killed or frozen. It
cannot stop the command while the guard is frozen too, a process that became another
user's, or work given to a daemon that ran before.

This holds for Linux. On other Unix systems the guard misses processes that leave the
process group of the command. On Windows there is no guard, and only the command
itself is killed.

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
With --wait-replicas N the command starts when N replicas have the lock, and a renewal
counts when they have it. So a failover to one of them keeps the lock. N must be the
number of all replicas that can be promoted. If one of them is missing, nothing
starts, and the command is stopped before its lease ends.

SCHEDULES
With --every PERIOD you can put the same line into the crontab of each machine: COMMAND
runs once for each tick. Redis decides which tick a start belongs to: the nearest one.
The start and the clock may be off by less than half of PERIOD together. --at sets when
the ticks are. Without it the first start of NAME is a tick, and starts may be off by
less than a quarter of PERIOD.

A start whose tick has begun already does not wait. It prints which machine ran it and
the result, and exits with 75 (see -E). A command that failed or was killed has used
its tick, and is not run again. 'holdfast show' shows the result.

A tick is skipped while the command of an earlier tick still runs. After holdfast or
its machine was killed, ticks are skipped until --ttl has passed. A tick is missed if
nothing starts. A start that is more than half of PERIOD late counts for the next tick.
All commands that use --every for NAME must give the same PERIOD and --at, else nothing
is run (exit code 64). To change them, use another NAME.

LIMITS OF THE HOLD TIME
With --min-hold D the lock is not free before D has passed since the command began,
even if the command is quicker, or this process or machine dies. 'holdfast show' calls
that a cool-down. At most 31 days. It is not a schedule: a start shortly before D is over
is skipped. To run once per period, use --every.

With --max-hold D the command gets TERM when it has run for D, and KILL after --grace.
The lock is held until all of its processes are dead.

TAKING THE LOCK FROM ITS HOLDER
--steal HASH --reason TEXT takes the lock from the holder with this hash, as 'holdfast
steal' does. 'holdfast show' prints the hash. COMMAND runs at once, before all waiters.
UNTIL THE OLD HOLDER IS NOTIFIED, TWO COMMANDS RUN. If another process holds the lock
by then, nothing is changed (exit code 75).

DETAILS AND JOURNAL
While COMMAND waits or runs, 'holdfast show' shows its host, pid and user, COMMAND with
anything that looks like a password hidden, and --note TEXT. Everybody who can read
Redis sees that: --no-details stores none of it.

Each run is written to a journal in Redis, for 'holdfast history', 'watch', 'audit' and
'jobs'. So is a run that was skipped because the lock was held, except when another
machine ran the same tick. The journal never delays COMMAND. --no-journal writes none.

SIGNALS
HUP, INT, QUIT, TERM, USR1, USR2, WINCH and CONT are passed on to the command, and
holdfast ends when the command ends. During the wait the first four end holdfast with
code 128+n, and nothing is run. A signal that was ignored at the start (nohup) stays
ignored. The command has no controlling terminal: ctrl-C reaches it through holdfast.
ctrl-Z is refused, because a stopped job would keep the lock.

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

const runExample = `  holdfast run nightly -- ./backup           wait for the lock, then run
  holdfast run -n nightly -- ./backup        run now, or exit with 75
  holdfast run -w 30s deploy -- sh -c 'make && make install'

  # cron on several machines, one runs; a skipped run is no failure
  0 3 * * *  holdfast run -q -n -E 0 nightly -- /usr/local/bin/backup

  # once per night, even if the clocks differ; and at ten past each hour
  0 3 * * *  holdfast run -q -E 0 --every 24h nightly -- /usr/local/bin/backup
  10 * * * * holdfast run -q -E 0 --every 1h --at 10m report -- ./report

  # many readers or one writer; at most four builds at a time
  holdfast run --shared index -- ./report
  holdfast run --exclusive index -- ./rebuild
  holdfast run --of 4 builds -- make

  # survive one minute without Redis
  holdfast run --ttl 1m import -- ./import

  # one deployment at a time; find out why it did not run
  holdfast run -w 10m deploy:web -- ./deploy.sh
  case $? in 75) echo busy;; 69) echo no Redis;; 122) echo stopped midway;; esac`
