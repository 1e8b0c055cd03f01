// Package wire reads what Redis says. It decodes the replies of scripts ([Answer]) and the
// pushes of subscriptions ([Push]), and it says what an error means: whether it may pass
// ([Transient]), whether the script may run nevertheless ([MayStillRun]), and what an operator
// can do about it ([Explain]).
//
// It decides nothing about a lock and sends nothing. Everything that it decodes may come from a
// foreign program, so each figure is checked before it is used.
package wire
