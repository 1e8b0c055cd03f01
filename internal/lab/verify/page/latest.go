package main

// latest is docs/verification/latest.json.
type latest struct {
	histories
	Contexts *contexts         `json:"contexts,omitempty"`
	Mutants  mutants           `json:"mutants"`
	Controls controls          `json:"negative_controls"`
	Models   []model           `json:"models,omitempty"`
	Stories  stories           `json:"simulation"`
	Peers    peers             `json:"peers,omitempty"`
	Soak     soak              `json:"soak,omitzero"`
	Runs     map[string]origin `json:"runs"` // by the flag of page
}

type stories struct {
	Stories    int            `json:"stories"`
	Operations map[string]int `json:"operations,omitempty"`
	Faults     map[string]int `json:"faults,omitempty"`
	Violations []string       `json:"violations"`
}

// origin is how a part was found.
type origin struct {
	Command string  `json:"command"`
	Date    string  `json:"date"`
	Machine string  `json:"machine"`
	Parts   []stage `json:"parts,omitempty"` // where it was made in more than one run
}

// taking is how files are taken.
type taking struct {
	broken bool // also those in which promises were broken
	add    bool // to what is there
}

// part is one run that ends here.
type part struct {
	flag    string
	command string                                                            // that writes it
	of      func(*latest) any                                                 // what its file is read into; nil: sum is not
	sum     func(l *latest, files []string, command string, how taking) error // takes several files, and adds them up
}
