package main

// latest is docs/verification/latest.json.
type latest struct {
	histories
	Mutants  mutants           `json:"mutants"`
	Controls controls          `json:"negative_controls"`
	Models   []model           `json:"models,omitempty"`
	Stories  stories           `json:"simulation"`
	Peers    peers             `json:"peers,omitempty"`
	Soak     soak              `json:"soak,omitzero"`
	Runs     map[string]origin `json:"runs"` // by the flag of page
}

type mutants struct {
	Tried  int      `json:"tried"`
	Killed int      `json:"killed"`
	List   []mutant `json:"list,omitempty"`
}

type mutant struct {
	Guard   string  `json:"guard"`
	File    string  `json:"file"`
	Test    string  `json:"test"`
	Seconds float64 `json:"seconds"`
	Killed  bool    `json:"killed"`
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
	Parts   []stage `json:"parts,omitempty"` // of histories that were made in more than one run
}

// part is one run that ends here.
type part struct {
	flag    string
	command string            // that writes it
	of      func(*latest) any // nil: see takeHistories
}
