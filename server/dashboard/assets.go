package dashboard

import (
	"archive/tar"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
)

//go:embed assets
var embedded embed.FS

// media are the content types of files by ending. The system's list of types is not used.
var media = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
	"":     "text/plain; charset=utf-8",
}

// assets serves scripts and styles. Their path has the hash of all of them in it, so
// browsers may keep them for ever.
type assets struct {
	files   fs.FS
	version string
}

func newAssets() *assets {
	files, err := fs.Sub(embedded, "assets")
	sum := sha256.New()
	if err == nil {
		err = tar.NewWriter(sum).AddFS(files)
	}
	if err != nil {
		panic("holdfast/dashboard: embedded files: " + err.Error())
	}
	return &assets{files, hex.EncodeToString(sum.Sum(nil)[:6])}
}

func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, err := fs.ReadFile(a.files, r.PathValue("file"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if r.PathValue("version") == a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", media[path.Ext(r.PathValue("file"))])
	_, _ = w.Write(content)
}
