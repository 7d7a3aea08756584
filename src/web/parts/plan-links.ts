const ID = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/

export interface PlanLink {
  readonly href: string
  readonly name: string
}

interface Plans {
  readonly experiments: readonly { readonly id: string; readonly name: string }[]
  readonly deployments: readonly { readonly deployment_id: string; readonly model_name: string }[]
  readonly rollouts: readonly {
    readonly rollout_id: string
    readonly model_id: string
    readonly model_name: string | null
  }[]
}

export const hasId = (text: string): boolean => ID.test(text)

/** Returns the warning in parts, with links in place of the ids of these plans. */
export const withPlanLinks = (text: string, plans: Plans): readonly (string | PlanLink)[] => {
  const parts = text.split(ID)
  return parts.map((part, at): string | PlanLink => {
    if (!ID.test(part)) return part
    // As in `the newer rollout <id>`.
    const named = (kind: string, model: string): string =>
      parts[at - 1]?.endsWith(`${kind} `) ? `of ${model}` : `${kind} of ${model}`
    const experiment = plans.experiments.find(({ id }) => id === part)
    if (experiment !== undefined) return { href: `/experiments/${part}`, name: experiment.name }
    const deployment = plans.deployments.find(({ deployment_id }) => deployment_id === part)
    if (deployment !== undefined)
      return { href: `/delivery/deployments/${part}`, name: named('deployment', deployment.model_name) }
    const rollout = plans.rollouts.find(({ rollout_id }) => rollout_id === part)
    if (rollout === undefined) return part
    const name = named('rollout', rollout.model_name ?? 'a model')
    return { href: `/delivery/rollouts/${rollout.model_id}/${part}`, name }
  })
}
