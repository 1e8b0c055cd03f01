// Package model is an explicit-state checker: it goes through every state that a
// small model of the protocol can reach, breadth first, so that the first state
// found broken has a shortest way to it. The models themselves are in the
// packages below; spec/README.md says what they are for and what they leave out.
//
// States are remembered by 128-bit hashes of their canonical form, not whole:
// with 10^8 states the chance that two are taken for one is below 10^-22.
//
// # How to read a trace
//
//  12. B: lock runs: queued; recall published
//     L=a0 for 2  F=0  Q=b0
//     A: a0 holding, a turn is out, 2 to its deadline, tokens 1 to 0, 0 in line, ...
//     B: b0 asked, 1 in line, subscribed: here true, there true
//     under way: lock answered queued b0, age 0
//
// Each step has its number, process, event, and the state after it. a0 is an id of A. Tokens
// count from the newest used. "here" is what the process believes, "there" what the server knows.
// The last line names the invariant.
package model

import "strings"

// Model is a system of states and steps. A state is a plain value that holds no
// pointers: two are the same when they are equal.
type Model[S comparable] interface {
	// Start is the one state in which everything begins.
	Start() S
	// Next calls emit with each state that can follow s and the step there. It
	// must do the same whenever it is called.
	Next(s *S, emit func(Step, *S))
	// Canon replaces a state by the one that stands for all that are like it
	// but for names. Next must treat them alike.
	Canon(s *S)
	// Broken names the invariant that does not hold in s; empty: all do.
	Broken(s *S) string
	// Labels are the names of all notes that a Step can bear.
	Labels() []string
	// Print shows a state in a few lines for people.
	Print(s *S) string
}

// Note is a number of a label: a thing that a step did, or that happened in it.
type Note uint8

// Step says what happened between two states, in the order in which it happened.
type Step struct {
	Who   uint8 // process or node, as the model counts
	n     uint8
	notes [7]Note
}

// Add notes one more thing.
func (s *Step) Add(n Note) {
	if int(s.n) < len(s.notes) {
		s.notes[s.n] = n
		s.n++
	}
}

// Notes are the things noted.
func (s *Step) Notes() []Note { return s.notes[:s.n] }

func (s *Step) text(labels []string) string {
	words := make([]string, 0, s.n)
	for _, n := range s.Notes() {
		words = append(words, labels[n])
	}
	return strings.Join(words, "; ")
}
