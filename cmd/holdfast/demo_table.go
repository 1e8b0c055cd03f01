package main

import "fmt"

// The columns of the table; with the spaces between them it is 80 wide.
const (
	tableHead1 = "                                                     longest  commands"
	tableHead2 = "way      sold  oversold  overlaps  fastest  slowest     wait per buyer  fairness"
)

func printTable(s screen, sale *sale, results []*result) {
	s.printf("%d buyers, %s. The lock's ttl is %v, %s %v to pay.\n\n",
		sale.Buyers, count(sale.Stock, "piece", "pieces"), saleTTL, count(sale.slowBuyers(), "buyer takes", "buyers take"), slowPayment)
	s.printf("%s\n%s\n", s.paint(bold, tableHead1), s.paint(bold, tableHead2))
	for _, r := range results {
		s.printf("%-8s %4d  %s  %s  %7s  %7s  %7s  %8.1f  %8.2f\n", r.way, r.sold,
			s.paint(verdict(r.oversold), fmt.Sprintf("%8d", r.oversold)),
			s.paint(verdict(r.overlaps), fmt.Sprintf("%8d", r.overlaps)),
			duration(r.fastest), duration(r.slowest), duration(r.longestWait), r.commands, r.fairness)
	}
	s.printf("\n")
	for _, r := range results {
		printRemarks(s, r)
	}
}

// printRemarks says in words what the numbers of a way mean.
func printRemarks(s screen, r *result) {
	if r.oversold > 0 {
		s.printf("%-8s  %s sold beyond the stock; the books of the shop say %d left\n", r.way, count(r.oversold, "piece was", "pieces were"), r.left)
	}
	if r.foreign > 0 {
		s.printf("%-8s  %s the lock of another buyer\n", r.way, count(r.foreign, "buyer deleted", "buyers deleted"))
	}
	if r.oversold == 0 && r.overlaps > 0 {
		s.printf("%-8s  buyers met in the shop; nothing was oversold this time\n", r.way)
	}
	if r.overlaps == 0 {
		s.printf("%-8s  no two buyers met\n", r.way)
	}
}

func verdict(faults int) string {
	if faults > 0 {
		return bad
	}
	return good
}
