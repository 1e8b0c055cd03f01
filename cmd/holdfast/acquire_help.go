package main

const acquireHelp = `Takes NAME as 'holdfast run' does, prints a lease, and ends; NAME stays held for --ttl.
Whoever has the lease prolongs it by 'holdfast renew', asks by 'holdfast check', and
gives NAME back by 'holdfast release': for steps of a pipeline that are processes of
their own. Where one process can do the work, 'holdfast run' is the better way: it
renews by itself, and stops the work when the lease is lost.

The lease is one line of printable text without spaces. WHOEVER READS IT CAN END IT OR
TAKE IT OVER: keep it out of logs. With --lease-file it goes into a file that only you
can read, and the other commands read it from there, from HOLDFAST_LEASE, from an
argument (which others on this machine can see in ps), or from stdin for '-'.

NOBODY RENEWS IT FOR YOU. Renew it every third of --ttl, and stop working when that
fails until the deadline is over. Let what you write to check the token: it refuses
what comes with a lower one than it has seen.

Others see in 'holdfast show' who took NAME, that nobody renews it, and how long it
lasts: our host and user, and --note TEXT; --no-details tells not who. That is known
for an hour longer than --ttl.

A file that exists already is replaced. If the lease can't be printed or written, NAME
is given back. Shared kinds (--shared, --of) and cool-downs can't be kept this way.

-o env prints lines for eval: HOLDFAST_LEASE (or HOLDFAST_LEASE_FILE), HOLDFAST_NAME and
HOLDFAST_TOKEN. From then on other commands of holdfast take no HOLDFAST_OWNER, as
within a command of 'holdfast run'.

` + leaseJSONHelp + `

Exit codes: 0 it is held, or
   64  the command line is wrong, or NAME is another kind of lock
   69  Redis does not answer: whether anybody holds NAME is not known
   70  something else went wrong
   75  somebody holds NAME (-n, -w; see --busy-code)
   77  Redis refused: password, user or rights
   78  --lease-file can't be written
 128+n signal n ended the wait`

const acquireExample = `  lease=$(holdfast acquire --ttl 5m deploy:web) || exit
  trap 'holdfast release "$lease"' EXIT
  ./build && holdfast renew "$lease" && ./roll-out

  eval "$(holdfast acquire -o env --lease-file /run/deploy.lease deploy:web)"
  holdfast renew && ./step-two && holdfast release

  holdfast acquire -w 30s -o json nightly | jq '{token, deadline}'`

const leaseFromHelp = `The LEASE is what 'holdfast acquire' printed (or Lease.Export gave). Without an argument
it is read from --lease-file, else from HOLDFAST_LEASE; '-' is stdin.`

const leaseCodesHelp = `Exit codes: 0, or
   64  the command line is wrong, or LEASE is not whole, or of another --prefix
   69  Redis does not answer, or too few replicas have the renewal: nobody knows;
       say it again
   70  something else went wrong
   77  Redis refused: password, user or rights
   78  --lease-file can't be read
  122  the lease is over: expired, gone, taken, revoked or stolen`
