import { create } from "@bufbuild/protobuf";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import {
  type ConformanceResult,
  type Provider as ProviderEntry,
  ProviderSchema,
} from "../../gen/ts/harnessruntime/v1/provider_pb.js";
import { HarnessError, notFound } from "./errors.js";
import type { Availability, Provider } from "./provider.js";

const AVAILABLE: Availability = { available: true, reason: "" };
/** How many executions a provider runs at once where it does not say. */
const DEFAULT_CAPACITY = 64;

/** Returns whether a provider can take executions now. */
export function availabilityOf(provider: Provider): Availability {
  return provider.availability?.() ?? AVAILABLE;
}

/** Returns the most executions that a provider runs at once. */
export function capacityOf(provider: Provider): number {
  return provider.capacity ?? DEFAULT_CAPACITY;
}

/** The providers that a runtime knows, by their manifest's ID. */
export class Registry {
  readonly #providers = new Map<string, Provider>();
  readonly #conformance = new Map<string, ConformanceResult>();

  /** Adds a provider, or takes the place of the one with its ID. */
  add(provider: Provider): void {
    this.#providers.set(provider.manifest.id, provider);
  }

  /** Returns a provider, or undefined. */
  find(providerId: string): Provider | undefined {
    return this.#providers.get(providerId);
  }

  /** Returns a provider; fails with PROVIDER_NOT_FOUND. */
  get(providerId: string): Provider {
    const provider = this.#providers.get(providerId);
    if (provider === undefined) throw notFound("provider", providerId, ErrorReason.PROVIDER_NOT_FOUND);
    return provider;
  }

  /** Returns a provider that can take executions; fails with PROVIDER_NOT_FOUND or PROVIDER_UNAVAILABLE. */
  getAvailable(providerId: string): Provider {
    const provider = this.get(providerId);
    const { available, reason } = availabilityOf(provider);
    if (available) return provider;
    throw new HarnessError(
      ErrorReason.PROVIDER_UNAVAILABLE,
      `provider ${providerId} is not available: ${reason}`,
      { provider_id: providerId },
      { retryMs: 1000 },
    );
  }

  /** Every provider, by ID. */
  all(): readonly Provider[] {
    return [...this.#providers.values()].sort((left, right) => (left.manifest.id < right.manifest.id ? -1 : 1));
  }

  /** Keeps what a conformance run measured, shown with the provider from now on. */
  measured(providerId: string, result: ConformanceResult): void {
    this.get(providerId);
    this.#conformance.set(providerId, result);
  }

  /** What is measured of a provider so far. */
  conformanceOf(providerId: string): ConformanceResult | undefined {
    return this.#conformance.get(providerId);
  }

  /** Returns a provider as callers see it; `activeExecutions` is how many it runs now. */
  entry(provider: Provider, activeExecutions: number): ProviderEntry {
    const { available, reason } = availabilityOf(provider);
    const conformance = this.#conformance.get(provider.manifest.id);
    return create(ProviderSchema, {
      manifest: provider.manifest,
      available,
      unavailableReason: reason,
      activeExecutions,
      capacity: capacityOf(provider),
      ...(conformance === undefined ? {} : { conformance }),
    });
  }
}
