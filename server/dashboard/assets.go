package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

//go:embed assets
var assetFiles embed.FS

// assets serves scripts and styles. Their path has the hash of all of them in it, so
// browsers may keep them for ever.
type assets struct {
	files   map[string][]byte
	version string
}

func newAssets() *assets {
	a := &assets{files: map[string][]byte{}}
	sum := sha256.New()
	err := fs.WalkDir(assetFiles, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := assetFiles.ReadFile(name)
		if err != nil {
			return err
		}
		a.files[name[len("assets/"):]] = content
		_, _ = sum.Write(append([]byte(name), content...))
		return nil
	})
	if err != nil {
		panic("holdfast/dashboard: embedded files: " + err.Error())
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:6])
	return a
}

func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, ok := a.files[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.PathValue("version") == a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	kind := mime.TypeByExtension(path.Ext(r.PathValue("file")))
	switch path.Ext(r.PathValue("file")) { // not what a machine's registry thinks
	case ".js":
		kind = "text/javascript; charset=utf-8"
	case ".css":
		kind = "text/css; charset=utf-8"
	case ".svg":
		kind = "image/svg+xml"
	case "":
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content)
}
