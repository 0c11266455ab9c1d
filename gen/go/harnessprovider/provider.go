// Package harnessprovider runs a provider in a process of its own, which dials in to a harness runtime. Through breaks
// of the connection and restarts of the runtime nothing that the provider emits is lost or doubled. It is written by
// hand, over the generated client beside it.
package harnessprovider

import (
	"context"

	providerv1 "harness-runtime.dev/gen/go/harnessruntime/provider/v1"
	v1 "harness-runtime.dev/gen/go/harnessruntime/v1"

	"google.golang.org/protobuf/types/known/structpb"
)

// ProtocolVersion is the version of the protocol that this package speaks.
const ProtocolVersion = "2026-09-02"

// Provider is an adapter of one harness.
type Provider struct {
	ID, Name, Version string
	Capacity          int32                      // the most executions at a time; 0 means 16
	Capabilities      map[string]v1.SupportLevel // what is not listed is UNSUPPORTED
	ConfigSchema      map[string]any             // the JSON Schema of an execution's config; nil takes any

	// Run runs one turn. A nil outcome is success with the text that was emitted, an error fails the execution. ctx is
	// done when the turn must end; context.Cause says why.
	Run func(ctx context.Context, turn *Turn) (*providerv1.Outcome, error)
	// Cancel is called after a cancel, once Run has returned; its error is the execution's cleanup_error. May be nil.
	Cancel func(ctx context.Context, turn *Turn) error
}

func (p *Provider) capacity() int32 {
	if p.Capacity == 0 {
		return 16
	}
	return p.Capacity
}

func (p *Provider) manifest() (*v1.ProviderManifest, error) {
	manifest := &v1.ProviderManifest{
		Id:              p.ID,
		Name:            p.Name,
		Version:         p.Version,
		ProtocolVersion: ProtocolVersion,
		Topologies:      []v1.Topology{v1.Topology_TOPOLOGY_REMOTE},
		Capabilities:    p.Capabilities,
	}
	if p.ConfigSchema == nil {
		return manifest, nil
	}
	schema, err := structpb.NewStruct(p.ConfigSchema)
	manifest.ConfigSchema = schema
	return manifest, err
}

// Succeeded is the outcome of a turn that ended well with a final output of its own.
func Succeeded(finalOutput string) *providerv1.Outcome {
	success := &providerv1.TurnSuccess{FinalOutput: &finalOutput}
	return &providerv1.Outcome{Result: &providerv1.Outcome_Success{Success: success}}
}

// Failed is the outcome of a turn that failed, and with it the execution.
func Failed(reason v1.FailureReason, message string) *providerv1.Outcome {
	failure := &providerv1.TurnFailure{Reason: reason, Message: message}
	return &providerv1.Outcome{Result: &providerv1.Outcome_Failure{Failure: failure}}
}

func outcomeOf(ctx context.Context, outcome *providerv1.Outcome, err error) *providerv1.Outcome {
	switch {
	case err != nil && ctx.Err() != nil:
		return &providerv1.Outcome{Result: &providerv1.Outcome_Cancelled{Cancelled: &providerv1.TurnCancelled{}}}
	case err != nil:
		return Failed(v1.FailureReason_FAILURE_REASON_PROVIDER_ERROR, err.Error())
	case outcome == nil:
		return &providerv1.Outcome{Result: &providerv1.Outcome_Success{Success: &providerv1.TurnSuccess{}}}
	}
	return outcome
}
