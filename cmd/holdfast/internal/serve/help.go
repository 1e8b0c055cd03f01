package serve

const helpText = `Serve locks over HTTP until ctrl-C: for programs without a holdfast library, for shell
scripts with curl, for Terraform, and for browsers. The URL is printed on stdout.

LEASES
A lease by request (POST /v1/leases): the answer has the text of the lease. Later
requests use that text to renew and release it. Without a renewal the lease ends after
its ttl. The server stores nothing about the lease, so you can send later requests to
another server, or to this one after a restart.

A lease bound to a stream (POST /v1/leases/stream): the server renews it while the
connection is open, and releases it when the connection closes. When the server ends,
its clients are notified and have --grace to close. Then their leases are released. If
the server is killed, the leases end after their ttl.

A client that was paused can write after its lease has ended. So send the token of the
lease with each write, and let the resource refuse lower tokens.

While Redis is unreachable, the server answers with 503 at once.

ACCESS
Without --tokens the server listens on loopback only, and everybody on this machine can
do everything. With --tokens each request needs one: 'Authorization: Bearer TOKEN', or
the token as the password of HTTP Basic. A browser asks for it as the password.

PATHS
The API is described at /openapi.json and in docs/http.md.

  GET    /                    dashboard
  GET    /v1/locks            names that are held or waited for
  GET    /v1/locks/NAME       holder and waiters of a name
  POST   /v1/leases           take a lock: {"name": ..., "wait": "10s"}
  GET    /v1/lease            state of a lease   } with the header
  PUT    /v1/lease            renew it           } Holdfast-Lease
  DELETE /v1/lease            release it         }
  POST   /v1/leases/stream    take a lock while the connection is open
  POST   /v1/revoke           ask a holder to stop              } admin
  POST   /v1/steal            take a lock from its holder       }
  LOCK, UNLOCK /v1/terraform/NAME
  GET    /metrics             metrics for Prometheus
  GET    /healthz, /readyz?verbose, /openapi.json`

const exampleText = `  holdfast serve
  curl -s http://127.0.0.1:7420/v1/locks | jq .
  holdfast serve --listen :7420 --tokens tokens --tls-cert c.pem --tls-key k.pem

  curl -s http://127.0.0.1:7420/v1/leases -H 'Content-Type: application/json' \
    -d '{"name": "nightly", "ttl": "1m", "wait": "10s"}'`
