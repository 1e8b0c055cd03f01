package main

const runHelp = `Takes NAME, runs COMMAND, gives NAME back. Standard input, output, error and
signals pass through, and the exit code is the command's own, 128+n if signal n
killed it. There is no shell in between: say sh -c '...' for one.

If the lease is lost, the command and all that it started get TERM, then KILL.
While Redis is away they are dead before the lease ends there. If the key was
deleted, overwritten or lost, that is noticed at the next renewal, up to a third
of the ttl later, and somebody else may run until then. A guard process sees to that even when this one is
killed or frozen, unless the guard is frozen too. Two things it can't stop: a
process that became another user's, and work handed to a daemon that ran before.
(Linux. On other Unix systems processes that leave the command's process group
are missed. On Windows there is no guard, and only the command itself is
killed.)

When the command ends, what it left behind in the background is killed before
NAME is given back. The command has no controlling terminal: ctrl-C reaches it
through holdfast, and ctrl-Z is refused, for a stopped job would keep NAME.

The command's environment is ours, with HOLDFAST_NAME, HOLDFAST_OWNER, and in
HOLDFAST_TOKEN the token that a resource can check. HOLDFAST_REDIS_URL stays as
it was, so that holdfast within the command finds the same server; a command
that must not see its password is better served by --redis.

Exit codes: the command's own, or
   64  the command line is wrong
   69  Redis does not answer
   70  something else went wrong
   75  somebody holds NAME (see --busy-code)
   77  Redis refused: password, user or rights
  122  the lease was lost, whatever the command's own code was
  126  COMMAND can't be run
  127  COMMAND was not found`

const runExample = `  holdfast run nightly -- ./backup --all         wait in line, then run
  holdfast run -n nightly -- ./backup --all      run now or exit 75
  holdfast run -n -E 0 nightly -- ./backup       skipping is fine
  holdfast run -w 30s deploy -- sh -c 'make && make install'`
