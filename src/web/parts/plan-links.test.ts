import { expect, it } from 'vitest'
import { withPlanLinks } from './plan-links.ts'

it('links in warnings have the names of plans; an unknown id stays', () => {
  const [experiment, deployment, rollout, unknown] = Array.from({ length: 4 }, () => crypto.randomUUID())
  const plans = {
    experiments: [{ id: experiment!, name: 'A or B' }],
    deployments: [{ deployment_id: deployment!, model_name: 'm' }],
    rollouts: [{ rollout_id: rollout!, model_id: 'id', model_name: 'm' }],
  }
  const toDeployment = { href: `/delivery/deployments/${deployment}`, name: 'deployment of m' }
  const href = `/delivery/rollouts/id/${rollout}`
  expect(withPlanLinks(`They take precedence: ${deployment} (version 2) and ${rollout} (version 3).`, plans)).toEqual([
    'They take precedence: ',
    toDeployment,
    ' (version 2) and ',
    { href, name: 'rollout of m' },
    ' (version 3).',
  ])
  expect(withPlanLinks(`The newer rollout ${rollout} has replaced ${experiment}.`, plans)).toEqual([
    'The newer rollout ',
    { href, name: 'of m' },
    ' has replaced ',
    { href: `/experiments/${experiment}`, name: 'A or B' },
    '.',
  ])
  expect(withPlanLinks(`Run ${unknown}`, plans).join('')).toBe(`Run ${unknown}`)
})
