package report

// Compare finds what got worse from one report to another.
func Compare(earlier, now *Report) (worse []string) {
	for _, q := range against(now, earlier) {
		if q.failed {
			worse = append(worse, q.workload+" "+q.who+" "+q.what)
		}
	}
	return worse
}

// Verdicts are the requirements as words, by workload, who and what.
func Verdicts(r *Report) map[[3]string]string {
	all := map[[3]string]string{}
	for _, v := range verdicts(r) {
		all[[3]string{v.workload, v.who, v.says}] = v.word()
	}
	return all
}

// With is an earlier report with what a later one measured.
func With(earlier, later *Report) *Report { return with(earlier, later) }
