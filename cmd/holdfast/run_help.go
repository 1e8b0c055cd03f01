package main

import "github.com/holdfast-go/holdfast"

var runHelp = `Takes NAME, runs COMMAND, gives NAME back. Standard input, output and error pass
through, and the exit code is the command's own, 128+n if signal n killed it.
There is no shell in between: say sh -c '...' for one. Without -n or -w it waits
in line for as long as it takes; one line on stderr says who holds NAME, and at
a terminal that line is kept up to date.

The command's environment is ours, with HOLDFAST_NAME, HOLDFAST_OWNER, and in
HOLDFAST_TOKEN the token that a resource can check: it refuses what comes with a
lower one than it has seen. HOLDFAST_REDIS_URL stays as it was, so that holdfast
within the command finds the same server; a command that must not see its
password is better served by --redis.

If the lease is lost, the command and all that it started get TERM, then KILL
after --grace. While Redis is away (said once, and again when it is back) they
are dead before the lease ends there. If the key was deleted, overwritten or
lost, that is noticed at the next renewal, up to a third of the ttl later, and
somebody else may run until then. A guard process sees to that even when this
one is killed or frozen, unless the guard is frozen too. Two things it can't
stop: a process that became another user's, and work handed to a daemon that ran
before. (Linux. On other Unix systems processes that leave the command's process
group are missed. On Windows there is no guard, and only the command itself is
killed.)

When the command ends, what it left behind in the background is killed before
NAME is given back.

All who use NAME must say the same of it, else nothing is run (exit code 64):

  no flag           one at a time
  -s, --shared      a reader: beside other readers
  -x, --exclusive   the writer of those: alone
  --of SIZE         beside others, together at most SIZE permits; --permits N
                    takes more than one. The first use sets SIZE, and Redis
                    keeps it for 30 days from each use. 'holdfast resize'
                    changes it; a command that says another is told so

First come, first served: a reader waits behind a writer that waits. All flags go
with each, but --min-hold and --every with none. Several tokens are in use at a time with
--shared and --of, so a resource must not refuse the lower ones.

With --wait-replicas N the command starts when N replicas have the lock, and a
renewal counts when they have it, so that a failover to one of them keeps NAME.
N must be all that could be promoted; while one hangs or is missing nothing
starts, and what runs is stopped before its lease ends.

While NAME is held or waited for, 'holdfast show' tells others who that is: host,
pid and user, COMMAND with what looks like a password hidden, and --note TEXT.
What does not look like one is shown to all who may read Redis: --no-details tells
nothing.

With --every PERIOD the same line in the crontab of each machine runs COMMAND once
for each tick. Redis alone decides which tick a start belongs to: the nearest one.
So starts may be early or late, and clocks wrong, by less than half of PERIOD in all.
The ticks are where --at says. Without it the first start of NAME is a tick, and
starts may be off by less than a quarter. A start whose tick has begun does not wait:
it exits with 75, or -E, and says who ran it and how that ended. A command that
fails or is killed has begun its tick, and is not run again: 'holdfast show' shows
it. While a command runs on beyond the next tick, that tick is skipped. So are ticks
until --ttl has passed after holdfast or its machine was killed. A tick at which nothing
starts is missed. A start more than half of PERIOD late counts for the next tick. All
who give --every for NAME must give the same PERIOD and --at, else nothing is run (64).
To change them use another NAME.

With --min-hold D nobody, here or on another machine, has NAME before D has
passed since the command began: not when the command is quicker, and not when
this process or machine dies. NAME is in cool-down then, as 'holdfast show' says.
It is no schedule: a start that comes a moment before D is over is skipped, so with
D as long as the period of a crontab ticks are lost. Use --every. At most ` + age(holdfast.MaxMinHold) + `.

With --steal HASH --reason TEXT NAME is taken from the holder whose hash 'holdfast
show' prints, as by 'holdfast steal', and COMMAND runs at once, in front of all who
wait. They go on when it ends. UNTIL THE HOLDER HEARS OF IT, TWO BELIEVE THAT THEY
HOLD NAME. If another holds it by then, that one is left alone (75).

With --max-hold D the command gets TERM when it has run for D, then KILL after
--grace; NAME is kept until nothing of it is alive.

What becomes of NAME and COMMAND is written into a journal beside the lock, for
'holdfast history', 'watch', 'audit' and 'jobs', also when nothing was run since
somebody else had NAME; with --every only if that was not for the same tick. That
never keeps COMMAND waiting; --no-journal writes none.

Signals: HUP, INT, QUIT, TERM, USR1, USR2, WINCH and CONT are passed on to the
command, and holdfast ends when that does; while it still waits, the first four
end the wait with code 128+n and nothing is run. A signal that was ignored at
the start (nohup) stays ignored. The command has no controlling terminal: ctrl-C
reaches it through holdfast, and ctrl-Z is refused, for a stopped job would keep
NAME.

` + statusFileHelp + `

Exit codes: the command's own, or
   64  the command line is wrong, or the URL does not fit the server, or NAME is
       another kind of lock (--shared, --exclusive, --of) or has another schedule
   69  Redis does not answer: whether anybody holds NAME is not known; or too
       few replicas do (--wait-replicas), and NAME was given back
   70  something else went wrong
   75  somebody holds NAME (-n, -w), or the tick has begun (--every); see --busy-code.
       Or another than HASH holds it (--steal)
   77  Redis refused: password, user or rights
   78  --status-file can't be written
  122  the lease was lost, whatever the command's own code was
  124  the command was stopped at --max-hold
  126  COMMAND can't be run
  127  COMMAND was not found
 128+n signal n ended the wait, or the command`

const runExample = `  holdfast run nightly -- ./backup --all         wait in line, then run
  holdfast run -n nightly -- ./backup --all      run now or exit 75
  holdfast run -w 30s deploy -- sh -c 'make && make install'
  holdfast run --ttl 1m import -- ./import       ride out a minute without Redis

  cron on several machines, one of them runs; a run that was skipped is no
  failure, and only trouble is mailed:
  0 3 * * *  holdfast run -q -n -E 0 nightly -- /usr/local/bin/backup

  the same on machines whose clocks differ, also when the backup is quick: once a
  night and not twice; and each hour, at ten past:
  0 3 * * *  holdfast run -q -E 0 --every 24h nightly -- /usr/local/bin/backup
  10 * * * * holdfast run -q -E 0 --every 1h --at 10m report -- ./report

  many may read, one writes; and at most four builds in the whole fleet:
  holdfast run --shared index -- ./report
  holdfast run --exclusive index -- ./rebuild
  holdfast run --of 4 builds -- make

  one deploy at a time, in the order of asking, no longer than ten minutes in
  line; then tell apart why it did not run:
  holdfast run -w 10m deploy:web -- ./deploy.sh
  case $? in 75) echo busy;; 69) echo no Redis;; 122) echo stopped midway;; esac`
