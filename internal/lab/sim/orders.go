package sim

// Stolen notes that a name is about to be stolen: from then on who held it may
// believe so until it hears of that, as after a loss of the server's data.
func (w *World) Stolen(name string) {
	w.Guard(func() { w.Watch.forgottenName(name) })
}
