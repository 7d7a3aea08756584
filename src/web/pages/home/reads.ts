import type { Scope } from '../../../domain/access.ts'
import { clockOffset } from '../../api/service-clock.ts'
import { prefetch } from '../../api/use-api.ts'

/** The requests of Home; components with the same request share it. */
export const SUMMARY = ['/api/v1/fleet/summary', {}] as const
export const STATUS = ['/api/v1/status', {}] as const
export const JOBS = ['/api/v1/training/jobs', { query: { limit: 50 } }] as const
export const RUNNING_JOBS = ['/api/v1/training/jobs', { query: { status: 'running', limit: 20 } }] as const
export const ROUNDS = ['/api/v1/training/rounds', { query: { limit: 50 } }] as const
export const FEDERATIONS = ['/api/v1/federations', { query: { limit: 20 } }] as const
export const PAUSED_ROLLOUTS = ['/api/v1/rollouts', { query: { status: 'paused', limit: 20 } }] as const
export const ACTIVE_ROLLOUTS = ['/api/v1/rollouts', { query: { status: 'active', limit: 20 } }] as const
export const STARTED_DEPLOYMENTS = ['/api/v1/deployments', { query: { status: 'started', limit: 20 } }] as const
export const APPROVALS = ['/api/v1/approvals', { query: { status: 'pending', limit: 20 } }] as const
export const EXPERIMENTS = ['/api/v1/experiments', { query: { status: 'running', limit: 20 } }] as const
export const INTEGRATIONS = ['/api/v1/integrations', {}] as const
export const MODELS = ['/api/v1/models', { query: { limit: 10, round_models: false } }] as const

/** The most failures shown of one kind. */
export const MAX_FAILURES = 8
export const DAY_MS = 24 * 60 * 60 * 1000
const HOUR_MS = 60 * 60 * 1000

/** 24 hours ago by the service's clock, in whole hours: a request with it is the same for an hour. */
const dayAgo = (): string =>
  new Date(Math.floor((Date.now() + clockOffset.get() - DAY_MS) / HOUR_MS) * HOUR_MS).toISOString()

/** The rollouts that the service rolled back lately, not those that people rolled back. */
export const rolledBack = () => {
  const query = { status: 'rolled_back', ended_by: 'service', ended_since: dayAgo(), limit: MAX_FAILURES } as const
  return ['/api/v1/rollouts', { query }] as const
}

export const failedDeployments = () => {
  const query = { status: 'failed', ended_since: dayAgo(), limit: MAX_FAILURES } as const
  return ['/api/v1/deployments', { query }] as const
}

/** Prefetches data so that the page is rendered once. */
export const preload = (may: (scope: Scope) => boolean): void => {
  if (may('devices:read')) {
    prefetch(...SUMMARY)
    prefetch(...STATUS)
  }
  if (may('training:read')) {
    prefetch(...JOBS)
    prefetch(...ROUNDS)
    prefetch(...FEDERATIONS)
    prefetch(...RUNNING_JOBS)
  }
  if (may('models:read')) {
    prefetch(...PAUSED_ROLLOUTS)
    prefetch(...rolledBack())
    prefetch(...failedDeployments())
    prefetch(...STARTED_DEPLOYMENTS)
    prefetch(...APPROVALS)
    prefetch(...ACTIVE_ROLLOUTS)
    prefetch(...EXPERIMENTS)
    prefetch(...MODELS)
  }
  if (may('admin')) prefetch(...INTEGRATIONS)
}

/** What the signed-in user may read; other data is not requested. */
export interface Seen {
  readonly training: boolean
  readonly models: boolean
}
