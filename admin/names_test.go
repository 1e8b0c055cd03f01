package admin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/script"
)

// namesOf collects what Names yields up to an error.
func namesOf(ctx context.Context, r admin.Reader, prefix string) (all []string, err error) {
	for name, err := range r.Names(ctx, prefix) {
		if err != nil {
			return all, err
		}
		all = append(all, name)
	}
	return all, nil
}

func TestNames(t *testing.T) {
	f := &fake{keys: []string{
		"holdfast/fence:{holdfast:a}", "holdfast/fence:{holdfast:b:1}", "holdfast/fence:{holdfast:a}", // SCAN may repeat
		"holdfast/fence:{app:c}", "holdfast/fence:x", "holdfast/queue:{holdfast:d}", "holdfast/fence:{holdfast:}", "holdfast/fence:{holdfast:b:2}",
	}}
	a := admin.New(f, nil)
	for prefix, want := range map[string][]string{"": {"a", "b:1", "d", "b:2"}, "b:": {"b:1", "b:2"}, "z": nil} {
		if got, err := namesOf(t.Context(), a, prefix); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", prefix, got, err, want)
		}
	}
	if got, err := namesOf(t.Context(), admin.New(f, &admin.Options{Prefix: "app:"}), ""); err != nil || !slices.Equal(got, []string{"c"}) {
		t.Errorf("got %q, %v, want c", got, err)
	}
	for _, err := range a.Names(t.Context(), "") {
		_ = err
		break // it yields no more
	}
	f.scan = errGone
	if got, err := namesOf(t.Context(), a, ""); !errors.Is(err, holdfast.ErrUnreachable) || len(got) != 4 {
		t.Errorf("got %q, %v, want four names and ErrUnreachable", got, err)
	}
	f.scan = driver.ServerError("NOPERM no scan")
	if _, err := namesOf(t.Context(), a, ""); !errors.Is(err, f.scan) || errors.Is(err, holdfast.ErrUnreachable) {
		t.Errorf("got %v, want %v", err, f.scan)
	}
	if s, err := a.Survey(t.Context(), "", 0); s != nil || !errors.Is(err, f.scan) {
		t.Errorf("got %+v, %v, want %v", s, err, f.scan)
	}
}

// holding is a fake whose lock keys have values. The server refuses to read those it calls secret.
func holding(values map[string]string, keys ...string) *fake {
	f := &fake{keys: keys}
	for key := range values {
		f.keys = append(f.keys, key)
	}
	f.eval = func(c driver.Call) ([]string, error) {
		answer := []string{"values"}
		for _, key := range c.Keys {
			value, ok := values[key]
			switch {
			case c.Script != script.Values:
				return nil, driver.ServerError("ERR another script")
			case value == "secret":
				return nil, denied
			case !ok || value == "list":
				answer = append(answer, "")
			default:
				answer = append(answer, "="+value[:min(len(value), 128)])
			}
		}
		return answer, nil
	}
	return f
}

// A lock key without another key of its name is listed if holdfast has set it. A foreign value
// is listed for a prefix alone.
func TestNamesOfLoneKeys(t *testing.T) {
	values := map[string]string{
		"holdfast:held": id, "holdfast:cool": "cooldown|me", "holdfast:later": "v2|x", "holdfast:node": id + ":77", "holdfast:list": "list",
		"holdfast:foreign": "x", "holdfast:empty": "", "holdfast:large": strings.Repeat("x", 1<<20), "holdfast:hidden": "secret", "holdfast/x": "x", "app:x": id, "holdfast:": id,
		"holdfast:used": id, "holdfast:long": "client.nonce.30000.s1073741824|" + strings.Repeat("o", 64),
	}
	for name, test := range map[string]struct {
		options admin.Options
		prefix  string
		cluster bool
		want    []string
	}{
		"all":        {want: []string{"cool", "held", "later", "long", "node", "used"}},
		"in Cluster": {want: []string{"cool", "held", "later", "long", "node", "used"}, cluster: true},
		"a prefix":   {prefix: "f", want: []string{"foreign"}},
		"a name":     {prefix: "large", want: []string{"large"}},
		"no value":   {prefix: "empty", want: []string{"empty"}},
		"no string":  {prefix: "li"},
		"denied":     {prefix: "hid"},
		"another":    {options: admin.Options{Prefix: "app:"}, want: []string{"x"}},
		"no prefix":  {options: admin.Options{Prefix: holdfast.NoPrefix}, want: []string{"holdfast:used"}}, // any key could be a lock key
		"names":      {options: admin.Options{Prefix: holdfast.NoPrefix}, prefix: "app", want: []string{"app:x"}},
	} {
		f := holding(values, "holdfast/queue:{holdfast:used}", "holdfast:gone", "holdfast:held")
		f.cluster = test.cluster
		got, err := namesOf(t.Context(), admin.New(f, &test.options), test.prefix)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, test.want)
		}
		for _, c := range f.calls {
			if test.cluster && len(c.Keys) != 1 {
				t.Errorf("%s: a script reads %q, which have different slots", name, c.Keys)
			}
		}
	}
}

// Any number of foreign keys leaves memory free: they are read while the scan goes on. Keys that
// holdfast uses are not read at all.
func TestNamesAmongMany(t *testing.T) {
	f := holding(map[string]string{"holdfast:held": id})
	f.keys = nil
	for i := range 150_000 {
		f.keys = append(f.keys, fmt.Sprintf("holdfast:%06d", i))
	}
	f.keys = append(f.keys, "holdfast:held", "holdfast:used", "holdfast/fence:{holdfast:used}")
	got, err := namesOf(t.Context(), admin.New(f, nil), "")
	if slices.Sort(got); err != nil || !slices.Equal(got, []string{"held", "used"}) {
		t.Errorf("got %q, %v, want held and used", got, err)
	}
	read := 0
	for _, c := range f.calls {
		if read += len(c.Keys); slices.Contains(c.Keys, "holdfast:used") {
			t.Error("the lock key of used was read, although it has a fence key")
		}
	}
	if read != 150_001 || len(f.calls) > 1600 {
		t.Errorf("read %d lock keys with %d scripts, want 150001 with about 1501", read, len(f.calls))
	}
	f.calls, f.eval = nil, func(driver.Call) ([]string, error) { return nil, errGone }
	if _, err := namesOf(t.Context(), admin.New(f, nil), ""); !errors.Is(err, holdfast.ErrUnreachable) || len(f.calls) > 1000 {
		t.Errorf("got %v after %d scripts, want ErrUnreachable soon", err, len(f.calls))
	}
	f.eval = func(driver.Call) ([]string, error) { return []string{"values"}, nil }
	if _, err := namesOf(t.Context(), admin.New(f, nil), ""); err == nil {
		t.Error("an answer that is too short: got no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.eval = func(driver.Call) ([]string, error) { cancel(); return nil, errGone }
	if _, err := namesOf(ctx, admin.New(f, nil), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}
