package demo

import (
	"fmt"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/console"
)

// The columns of the table; with the spaces between them it is 80 wide.
const (
	tableHead1 = "                                                     longest  commands"
	tableHead2 = "way      sold  oversold  overlaps  fastest  slowest     wait per buyer  fairness"
)

func printTable(s console.Screen, sale *sale, results []*result) {
	s.Printf("%d buyers, %s. The lock's ttl is %v, %s %v to pay.\n\n",
		sale.Buyers, console.Count(sale.Stock, "piece", "pieces"), saleTTL, console.Count(sale.slowBuyers(), "buyer takes", "buyers take"), slowPayment)
	s.Printf("%s\n%s\n", s.Paint(console.Bold, tableHead1), s.Paint(console.Bold, tableHead2))
	for _, r := range results {
		s.Printf("%-8s %4d  %s  %s  %7s  %7s  %7s  %8.1f  %8.2f\n", r.way, r.sold,
			s.Paint(verdict(r.oversold), fmt.Sprintf("%8d", r.oversold)),
			s.Paint(verdict(r.overlaps), fmt.Sprintf("%8d", r.overlaps)),
			console.Duration(r.fastest), console.Duration(r.slowest), console.Duration(r.longestWait), r.commands, r.fairness)
	}
	s.Printf("\n")
	for _, r := range results {
		printRemarks(s, r)
	}
}

// printRemarks says in words what the numbers of a way mean.
func printRemarks(s console.Screen, r *result) {
	if r.oversold > 0 {
		s.Printf("%-8s  %s sold beyond the stock; the books of the shop say %d left\n", r.way, console.Count(r.oversold, "piece was", "pieces were"), r.left)
	}
	if r.foreign > 0 {
		s.Printf("%-8s  %s the lock of another buyer\n", r.way, console.Count(r.foreign, "buyer deleted", "buyers deleted"))
	}
	if r.oversold == 0 && r.overlaps > 0 {
		s.Printf("%-8s  buyers met in the shop; nothing was oversold this time\n", r.way)
	}
	if r.overlaps == 0 {
		s.Printf("%-8s  no two buyers met\n", r.way)
	}
}

func verdict(faults int) string {
	if faults > 0 {
		return console.Bad
	}
	return console.Good
}
