import type { App } from '../../platform/http/app.ts'
import type { RouteConfig } from '../../platform/http/route-config.ts'
import { warn } from '../../platform/http/warnings.ts'
import { FederationParams } from './federations.schema.ts'
import type { Checks } from './members.routes.ts'
import { finite, requestingCaller } from './privacy.routes.ts'
import { Estimate, EstimateQuery, NoiseQuery, NoiseResponse, RoundsLeft, RoundsLeftQuery } from './privacy.schema.ts'
import type { PrivacyForecasts } from './privacy-forecasts.service.ts'

export const privacyForecastsRoutes = (app: App, forecasts: PrivacyForecasts, { visible }: Checks): void => {
  const reads = { access: 'training:read', errors: ['not_found'], beforeInvalid: visible } satisfies RouteConfig
  const plans = { ...reads, errors: ['not_found', 'conflict'] } satisfies RouteConfig

  app.get(
    '/api/v1/federations/:federation_id/privacy/estimate',
    {
      schema: {
        operationId: 'estimatePrivacyCost',
        summary: 'Estimate the privacy cost of a round',
        params: FederationParams,
        querystring: EstimateQuery,
        response: { 200: Estimate },
      },
      config: reads,
    },
    async (request, reply) => {
      const { federation_id } = request.params
      const { target_delta } = request.query
      const found = await forecasts.estimate(
        requestingCaller(request, reply),
        federation_id,
        stepsOf(request.query),
        target_delta,
      )
      if (found.warning !== null) warn(request, found.warning)
      return {
        current_epsilon: finite(found.currentEpsilon),
        projected_epsilon: finite(found.projectedEpsilon),
        round_epsilon_cost: finite(found.projectedEpsilon - found.currentEpsilon),
        would_exceed_budget: found.wouldExceed,
        budget_epsilon: found.budgetEpsilon,
        target_delta: found.delta,
        accountant: found.accountant,
        projected_epsilon_rdp: finite(found.rdp),
        projected_epsilon_pld: found.pld === null ? null : finite(found.pld),
      }
    },
  )

  app.get(
    '/api/v1/federations/:federation_id/privacy/noise-for-epsilon',
    {
      schema: {
        operationId: 'findNoise',
        summary: 'Get the noise multiplier for an epsilon',
        description:
          'The lowest noise multiplier with which this number of rounds stays within an epsilon. 409 if target_epsilon is omitted and no budget is set.',
        params: FederationParams,
        querystring: NoiseQuery,
        response: { 200: NoiseResponse },
      },
      config: plans,
    },
    async (request, reply) => {
      const { federation_id } = request.params
      const { sample_rate, num_steps, target_epsilon, target_delta } = request.query
      const found = await forecasts.noiseFor(requestingCaller(request, reply), federation_id, {
        sampleRate: sample_rate,
        steps: num_steps,
        epsilon: target_epsilon,
        delta: target_delta,
      })
      return {
        federation_id,
        noise_multiplier: found.noiseMultiplier,
        target_epsilon: found.epsilon,
        target_delta: found.delta,
        sample_rate,
        num_steps,
        current_epsilon: finite(found.currentEpsilon),
      }
    },
  )

  app.get(
    '/api/v1/federations/:federation_id/privacy/rounds-left',
    {
      schema: {
        operationId: 'countPrivateRounds',
        summary: 'Get the number of private rounds left',
        description: 'How many more times `num_steps` such rounds fit the budget. 409 until a budget is set.',
        params: FederationParams,
        querystring: RoundsLeftQuery,
        response: { 200: RoundsLeft },
      },
      config: plans,
    },
    async (request, reply) => {
      const { federation_id } = request.params
      const { target_delta } = request.query
      const found = await forecasts.roundsLeft(
        requestingCaller(request, reply),
        federation_id,
        stepsOf(request.query),
        target_delta,
      )
      return {
        federation_id,
        rounds_left: found.rounds,
        budget_epsilon: found.epsilon,
        target_delta: found.delta,
        current_epsilon: finite(found.currentEpsilon),
      }
    },
  )
}

const stepsOf = (query: { noise_multiplier: number; sample_rate: number; num_steps: number }) => ({
  noiseMultiplier: query.noise_multiplier,
  sampleRate: query.sample_rate,
  steps: query.num_steps,
})
