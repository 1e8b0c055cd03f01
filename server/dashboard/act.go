package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/view"
	"github.com/holdfast-go/holdfast/server/dashboard/internal/pages"
)

// maxForm is how long a form may be, in bytes.
const maxForm = 16 << 10

// acts carries out what forms of a lock's page ask for, and leads back to it.
type acts struct {
	admin   *admin.Admin // nil on a quorum, which can neither revoke nor steal
	options Options
	board   *pages.Board
}

// ServeHTTP implements http.Handler.
func (d *acts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	action := Action{Verb: Verb(r.PathValue("verb")), Name: r.PostFormValue("name"), Tenure: r.PostFormValue("tenure"), Reason: strings.TrimSpace(r.PostFormValue("reason"))}
	refuse := func(status int, why string) {
		d.board.Serve(w, r, pages.Refused(action.Name, status, pages.Refusal{Sentence: why, Verb: string(action.Verb), Reason: action.Reason, Tenure: action.Tenure}))
	}
	confirmed := r.PostFormValue("confirm")
	switch {
	case action.Verb != Revoke && action.Verb != Steal:
		d.board.Serve(w, r, pages.Nowhere)
	case d.options.ReadOnly:
		refuse(http.StatusForbidden, "This dashboard is read-only: nothing was done.")
	case d.options.Authorize == nil:
		refuse(http.StatusForbidden, "This dashboard can't revoke or steal: Options.Authorize is not set. Nothing was done.")
	case !sameOrigin(r):
		refuse(http.StatusForbidden, "The form did not come from this page: nothing was done. Reload the page and try again.")
	case confirmed != action.Name && confirmed != view.Text(action.Name):
		refuse(http.StatusUnprocessableEntity, "The typed text is not the name: nothing was done.")
	case action.Reason == "":
		refuse(http.StatusUnprocessableEntity, "A reason is required, because the holder reads it. Nothing was done.")
	default:
		if err := d.options.Authorize(r, action); err != nil {
			refuse(http.StatusForbidden, err.Error())
			return
		}
		notified, err := d.do(r.Context(), action)
		if err != nil {
			refuse(statusOf(err), strings.TrimPrefix(err.Error(), "holdfast: "))
			return
		}
		done := url.Values{"name": {action.Name}, "did": {string(action.Verb)}, "notified": {strconv.Itoa(notified)}}
		http.Redirect(w, r, d.options.BasePath+"/lock?"+done.Encode(), http.StatusSeeOther)
	}
}

func (d *acts) do(ctx context.Context, action Action) (notified int, err error) {
	if d.admin == nil {
		return 0, errors.New("leases on a quorum can't be revoked or stolen: stop the process")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if action.Verb == Steal {
		return 0, d.admin.Steal(ctx, action.Name, action.Tenure, action.Reason)
	}
	return d.admin.Revoke(ctx, action.Name, action.Tenure, action.Reason)
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, holdfast.ErrTenure):
		return http.StatusConflict
	case errors.Is(err, holdfast.ErrUnreachable), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	}
	return http.StatusUnprocessableEntity
}
