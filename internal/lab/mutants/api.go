package main

// apiMutants are the guards of holds without a process: RenewExported and its like.
var apiMutants = []mutant{
	{guard: "exported: what was revoked is not prolonged", file: "internal/script/exported.lua", name: "TestExportedIsRevoked",
		edits: []string{"if order then return {order, reason} end", ""}},
	{guard: "exported: what was adopted is over", file: "internal/script/exported.lua", name: "TestExportedThatWasAdopted",
		edits: []string{"if order == 'adopted' then", "if order == 'adopted' then order = nil elseif false then"}},
	{guard: "exported: another's name is not prolonged", file: "internal/script/exported.lua", name: "TestExportedIsKept",
		edits: []string{"if holder ~= id then return {'lost', holder or '', us} end", ""}},
	{guard: "exported: a ghost is not prolonged", file: "internal/script/exported.lua", name: "TestExportedGhost",
		edits: []string{"if fence > tonumber(ARGV[2]) then", "if false then"}},
	{guard: "exported: the fence is prolonged", file: "internal/script/exported.lua", name: "TestExportedKeepsTheFence",
		edits: []string{"  -- include reserve.lua\n", ""}},
	{guard: "exported: looking changes nothing", file: "exported.go", name: "TestExportedIsChecked",
		edits: []string{"c.lookExported(ctx, text, \"CheckExported\", \"\")", "c.lookExported(ctx, text, \"CheckExported\", \"renew\")"}},
	{guard: "exported: what is left counts from the request", file: "exported.go", name: "TestExportedRenewalIsLate",
		edits: []string{"Remaining: end(sent, life).sub(now)", "Remaining: end(now, life).sub(now)"}},
	{guard: "exported: of that which was answered", file: "revoke.go", name: "TestExportedRenewalIsLost",
		edits: []string{"\t\tsent = c.clock.look()\n", "\t\tif sent == 0 {\n\t\t\tsent = c.clock.look()\n\t\t}\n"}},
	{guard: "exported: it is looked at before it is released", file: "exported.go", name: "TestExportedIsReleasedOnce",
		edits: []string{"if err != nil && !standing {", "if lost = nil; err != nil && !errors.Is(err, ErrLost) {"}},
	{guard: "exported: a repeated unlock is a release", file: "exported.go", name: "TestExportedIsReleasedOnce",
		edits: []string{" || a.word == \"not held\"", ""}},
	{guard: "exported: what was revoked is released", file: "exported.go", name: "TestExportedIsRevoked",
		edits: []string{"lost.Cause == Revoked || ", ""}},
	{guard: "exported: a renewal waits for replicas", file: "exported.go", name: "TestExportedIsConfirmed",
		edits: []string{"|| c.options.WaitReplicas == 0 {", "|| true {"}},
}
