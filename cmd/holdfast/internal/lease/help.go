package lease

const acquireHelp = `Take the lock NAME, print a lease, and end. The lock stays held for --ttl. Use it for
steps of a pipeline that are separate processes. For one command use 'holdfast run'.

'holdfast renew' extends the lease, 'holdfast check' reports its state, and 'holdfast
release' ends it. 'holdfast run' renews the lease and stops the work if the lease is
lost. After 'acquire' you have to do both yourself.

RULES
NOTHING RENEWS THE LEASE FOR YOU. Renew it every third of --ttl. If no renewal has
succeeded before the deadline, stop the work at the deadline. Let the resource check
the token: it should refuse a lower token than the highest it has seen.

The lease is one line of printable text without spaces. WITH IT ANY READER CAN END OR
TAKE OVER THE LEASE: keep it out of logs. With --lease-file it goes into a file that
only you can read. The other commands read the lease from that file, from
HOLDFAST_LEASE, from an argument (others on this machine can see it in ps), or from
stdin for '-'.

An existing FILE is replaced. If the lease cannot be printed or written, the lock is
released. There is no acquire for shared kinds (--shared, --of) and no --min-hold.

'holdfast show' shows the host and user of this command, --note TEXT, the time left, and
that no process renews the lease. With --no-details it shows no host, user and note.
Redis stores these details for 1 h longer than --ttl.

OUTPUT
-o env prints lines for eval. They set HOLDFAST_LEASE (or HOLDFAST_LEASE_FILE),
HOLDFAST_NAME and HOLDFAST_TOKEN. If HOLDFAST_TOKEN is set, commands of holdfast ignore
HOLDFAST_OWNER, as inside a command of 'holdfast run'.

` + leaseJSONHelp + `

EXIT CODES
    0  the lock is held
   64  the command line is wrong, or NAME has another kind
   69  Redis is unreachable: unknown whether NAME is held
   70  another error
   75  NAME is held (-n, -w); -E changes this code
   77  Redis refused: password, user or rights
   78  --lease-file cannot be written
 128+n signal n ended the wait`

const acquireExample = `  lease=$(holdfast acquire --ttl 5m deploy:web) || exit
  trap 'holdfast release "$lease"' EXIT
  ./build && holdfast renew "$lease" && ./roll-out

  eval "$(holdfast acquire -o env --lease-file /run/deploy.lease deploy:web)"
  holdfast renew && ./step-two && holdfast release

  holdfast acquire -w 30s -o json nightly | jq '{token, deadline}'`

const leaseFromHelp = `THE LEASE
LEASE is the line that 'holdfast acquire' printed, or the result of Lease.Export.
Without an argument it is read from --lease-file, else from HOLDFAST_LEASE. '-' is
stdin.`

const leaseCodesHelp = `EXIT CODES
    0  the lease is held, or was released
   64  the command line is wrong, or LEASE is incomplete or of another --prefix
   69  Redis is unreachable, or too few replicas have the renewal: unknown whether
       it was done; repeat it
   70  another error
   77  Redis refused: password, user or rights
   78  --lease-file cannot be read
  122  the lease has ended: expired, gone, taken, revoked or stolen`
