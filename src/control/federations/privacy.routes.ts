import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../platform/http/access.ts'
import type { App } from '../../platform/http/app.ts'
import { abortOnDisconnect } from '../../platform/http/client-disconnect.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import { warn } from '../../platform/http/warnings.ts'
import { FederationParams } from './federations.schema.ts'
import type { Checks } from './members.routes.ts'
import { BudgetBody, HistoryQuery, PrivacyBudget, PrivacyHistory } from './privacy.schema.ts'
import { type BudgetState, type HistoryEntry, NO_BUDGET, type PrivacyService } from './privacy.service.ts'

/** With probability delta, a device's update may be revealed completely, whatever epsilon is. */
const USUAL_DELTA = 0.01

export const privacyRoutes = (app: App, privacy: PrivacyService, { visible, owned }: Checks): void => {
  const reads = { access: 'training:read', errors: ['not_found'], beforeInvalid: visible } satisfies RouteConfig

  app.get(
    '/api/v1/federations/:federation_id/privacy',
    {
      schema: {
        operationId: 'getPrivacyBudget',
        summary: 'Get the privacy budget',
        description: 'The privacy budget, and how much of it is spent.',
        params: FederationParams,
        response: { 200: PrivacyBudget },
      },
      config: reads,
    },
    async (request, reply) =>
      present(await privacy.state(requestingCaller(request, reply), request.params.federation_id)),
  )

  app.put(
    '/api/v1/federations/:federation_id/privacy/budget',
    {
      schema: {
        operationId: 'setPrivacyBudget',
        summary: 'Set the privacy budget',
        description: 'Set the budget. Only the owner can set it.',
        params: FederationParams,
        body: BudgetBody,
        response: { 200: PrivacyBudget },
      },
      config: { access: 'training:write', errors: ['not_found'], beforeInvalid: owned } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { total_epsilon_budget, total_delta_budget } = request.body
      const budget = { epsilon: total_epsilon_budget, delta: total_delta_budget ?? NO_BUDGET.delta }
      const state = await privacy.setBudget(requestingCaller(request, reply), request.params.federation_id, budget)
      // Validation has filled in the default, so a request that left it out looks like one that named it.
      if (budget.delta === NO_BUDGET.delta && state.formerDelta !== null && state.formerDelta !== budget.delta)
        warn(request, `total_delta_budget is now ${budget.delta}, its default; it was ${state.formerDelta}`)
      if (budget.delta > USUAL_DELTA)
        warn(
          request,
          `total_delta_budget ${budget.delta} makes epsilon meaningless: choose less than 1 / the number of devices, such as 1e-5`,
        )
      return present(state)
    },
  )

  app.get(
    '/api/v1/federations/:federation_id/privacy/history',
    {
      schema: {
        operationId: 'listPrivacyHistory',
        summary: 'List the privacy spent per round',
        description: 'The cost of every private round, in the order of spending; rounds in progress last.',
        params: FederationParams,
        querystring: HistoryQuery,
        response: { 200: PrivacyHistory },
      },
      config: reads,
    },
    async (request, reply) => {
      const { limit, offset } = request.query
      const { federation_id } = request.params
      const found = await privacy.history(requestingCaller(request, reply), federation_id, { limit, offset })
      return {
        federation_id,
        history: found.entries.map(presentEntry),
        target_delta: found.delta,
        total: found.total,
        limit,
        offset,
      }
    },
  )
}

/** The caller, with a signal that aborts when the client no longer waits for the response. */
export const requestingCaller = (request: FastifyRequest, reply: FastifyReply) => ({
  ...callerOf(request),
  signal: abortOnDisconnect(reply.raw),
})

/** Replaces infinity, which JSON cannot represent, by the largest number. */
export const finite = (epsilon: number): number => Math.min(epsilon, Number.MAX_VALUE)

const present = (state: BudgetState) => {
  const total = state.budget?.epsilon ?? 0
  return {
    federation_id: state.federationId,
    total_epsilon_budget: total,
    total_delta_budget: state.delta,
    current_epsilon_spent: finite(state.epsilonSpent),
    epsilon_remaining: Math.max(0, total - state.epsilonSpent),
    is_exhausted: state.budget !== null && state.epsilonSpent >= total,
    rounds_tracked: state.roundsTracked,
    is_set: state.budget !== null,
    epsilon_committed: finite(state.epsilonCommitted),
    accountant: state.accountant,
  }
}

const presentEntry = (entry: HistoryEntry) => ({
  round_id: entry.roundId,
  job_id: entry.jobId,
  status: entry.status as 'reserved' | 'settled',
  noise_multiplier: entry.noiseMultiplier,
  sample_rate: entry.sampleRate,
  num_steps: entry.steps,
  clip_norm: entry.clipNorm,
  epsilon_cost: entry.epsilonCost,
  cumulative_epsilon: entry.epsilonAfter,
  accountant: entry.accountant,
  reserved_at: entry.reservedAt.toISOString(),
  settled_at: entry.settledAt?.toISOString() ?? null,
})
