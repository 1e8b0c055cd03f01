package main

const electHelp = `Many machines campaign for NAME, first come, first served; the one that leads runs
COMMAND. When the lease is lost the command is stopped, as 'holdfast run' does,
before another leads, and we campaign again. When COMMAND ends by itself, whatever
its code, we resign, wait (a second, twice as long each time that it lasted less
than 30 s, up to 30 s), and campaign again, at the end of the line. So this ends
with a signal, or where going on makes no sense. With --once it ends with the first
term.

Others see the leader's --value, which may be an address: at most 64 bytes that can
be printed, without "|". The number of the term is a fence token: it rises from
leader to leader, and a resource that refuses lower ones than it has seen is safe
from a leader of the past that was frozen and woke up.

The command's environment is ours, with HOLDFAST_NAME, HOLDFAST_OWNER,
HOLDFAST_VALUE, and the term in HOLDFAST_TOKEN.

Of each candidate 'holdfast show' tells what 'holdfast run' lets it tell: --note,
--no-details.

Signals are passed on as by 'holdfast run'. After HUP, INT, QUIT or TERM we end when
the command does, and resign, so that the next one leads at once; while we wait,
they end that with code 128+n. While Redis is away we go on trying.

Exit codes: as of 'holdfast run', of the last term. A lost lease (122) and Redis that
does not answer (69) end this only with --once, or when it begins.

--observe runs nothing and prints one line on stdout for who leads now, and one for
each change, until ctrl-C, or until nobody reads them. With -o json each line is an object:

  at      our time
  name    the name
  leader  null if nobody leads, or: value, term (0: unknown), hash (names the
          tenure in messages), foreign (not made by holdfast), remaining_ms (until
          it ends unless renewed; null: no expiry)
  error   null, or why nobody knows who leads; when that is known again there is
          another line

A lock of the same NAME by 'holdfast run' excludes all candidates; observers see its
owner, without a term, up to 15 s later.`

const electExample = `  holdfast elect --value 10.0.0.3:8080 scheduler -- ./scheduler
  holdfast elect --observe scheduler             who leads, now and from now on
  holdfast elect --observe scheduler -o json | jq -r '.leader.value // "nobody"'
  holdfast elect --once --ttl 5s boss -- ./boss  one term; others lead 5 s after
                                                 this machine died`
