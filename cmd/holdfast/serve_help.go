package main

const serveHelp = `Serve locks over HTTP, in the foreground, until ctrl-C: for programs that have no
library of holdfast, for shell scripts with curl, for Terraform. The URL is
printed on stdout. The API is described at /openapi.json, and in docs/http.md.

A lease is of one of two kinds. By request (POST /v1/leases): the answer holds a
text by which further requests renew and release it; if nobody renews it, it
ends by its ttl. This server keeps nothing of it: another one, or this after a
restart, serves it as well. Bound to a stream (POST /v1/leases/stream): the
server renews it while the connection is open, and releases it when that closes.
When this ends the clients of streams are told, have --grace to close, and then
what they held is released; when it is killed, their leases end by their ttl.

A lease is not a proof. A client that stood still can act after its lease has
ended: give the token of the lease to what you write to, which refuses lower ones.

Without --tokens it listens on loopback only, and everybody on this machine may
do everything. With --tokens each request needs one: 'Authorization: Bearer
TOKEN', or the token as password of HTTP Basic. While Redis does not answer,
requests are answered 503 at once.

In a browser it shows the same: who holds what, since when, who waits and why. Where
there are tokens the browser asks for one, as the password.

  GET    /                    pages
  GET    /v1/locks            names that are held or waited for
  GET    /v1/locks/NAME       who holds it, who waits, since when
  POST   /v1/leases           take a name: {"name": ..., "ttl": "30s", "wait": "10s"}
  GET    /v1/lease            how it stands with the lease   } with the header
  PUT    /v1/lease            renew it                       } Holdfast-Lease
  DELETE /v1/lease            release it                     }
  POST   /v1/leases/stream    take a name while the connection is open
  POST   /v1/revoke           ask a holder to stop           } admin
  POST   /v1/steal            take its name away             }
  LOCK, UNLOCK /v1/terraform/NAME
  GET    /metrics             for Prometheus: its own, and what stands in Redis
  GET    /healthz, /readyz?verbose, /openapi.json`

const serveExample = `  holdfast serve
  curl -s http://127.0.0.1:7420/v1/locks | jq .
  curl -s http://127.0.0.1:7420/v1/leases -H 'Content-Type: application/json' \
    -d '{"name": "nightly", "ttl": "1m", "wait": "10s"}'
  holdfast serve --listen :7420 --tokens tokens --tls-cert c.pem --tls-key k.pem`
