import { ids, page, times } from '../example-ids.ts'

const newFederation = {
  name: 'keyboard-alliance',
  org_id: 'acme',
  description: 'Two keyboard makers train one next-word model',
}
const federation = {
  id: ids.federation,
  ...newFederation,
  status: 'active',
  member_count: 2,
  created_at: times.created,
  membership: { role: 'owner', status: 'active' },
}
const member = {
  org_id: 'globex',
  role: 'member',
  status: 'active',
  invited_at: times.created,
  joined_at: times.started,
  rounds_contributed: 3,
  total_samples: 18_240,
  avg_accuracy: 0.33,
  avg_loss: 3.21,
  last_contribution_at: times.ended,
}
const sharedModel = {
  federation_id: ids.federation,
  model_id: ids.model,
  org_id: 'acme',
  name: 'next-word',
  framework: 'pytorch',
  description: 'Suggests the next word on the keyboard',
  accuracy: 0.31,
  loss: 3.42,
  latest_version: 2,
  shared_at: times.started,
}
/** As computed by the service: one round with noise 1.1 and sample rate 0.01 is spent. */
const spent = 0.1426
const noise = { target_epsilon: 8, target_delta: 1e-5, sample_rate: 0.01, num_steps: 100, current_epsilon: spent }

export const examples = {
  newFederation,
  federation,
  federationList: { federations: [federation], ...page },
  invitation: { org_ids: ['globex'] },
  invitedOrgs: { federation_id: ids.federation, invited: ['globex'], skipped: [] },
  joinRequest: { org_id: 'globex' },
  membership: { federation_id: ids.federation, org_id: 'globex', role: 'member', status: 'active' },
  memberList: { members: [member], ...page },
  removedMember: {
    federation_id: ids.federation,
    org_id: 'globex',
    message: `'globex' is no longer a member of '${federation.name}'.`,
  },
  modelToShare: { model_id: 'next-word' },
  sharedModel,
  sharedModelList: { models: [sharedModel], ...page },
  unsharedModel: {
    federation_id: ids.federation,
    model_id: ids.model,
    message: `Members of '${federation.name}' can no longer read the model.`,
  },
  newBudget: { total_epsilon_budget: 8, total_delta_budget: 1e-5 },
  privacyBudget: {
    federation_id: ids.federation,
    total_epsilon_budget: 8,
    total_delta_budget: 1e-5,
    current_epsilon_spent: spent,
    epsilon_remaining: 7.8574,
    is_exhausted: false,
    rounds_tracked: 1,
    is_set: true,
    epsilon_committed: spent,
    accountant: 'pld',
  },
  privacyEstimate: {
    current_epsilon: spent,
    projected_epsilon: 0.1748,
    round_epsilon_cost: 0.0322,
    would_exceed_budget: false,
    budget_epsilon: 8,
    target_delta: 1e-5,
    accountant: 'pld',
    projected_epsilon_rdp: 0.8165,
    projected_epsilon_pld: 0.1748,
  },
  privacyHistory: {
    federation_id: ids.federation,
    history: [
      {
        round_id: ids.round,
        job_id: ids.job,
        status: 'settled',
        noise_multiplier: 1.1,
        sample_rate: 0.01,
        num_steps: 1,
        clip_norm: 1,
        epsilon_cost: spent,
        cumulative_epsilon: spent,
        accountant: 'pld',
        reserved_at: times.started,
        settled_at: times.ended,
      },
    ],
    target_delta: 1e-5,
    ...page,
  },
  noiseForEpsilon: { federation_id: ids.federation, noise_multiplier: 0.4646, ...noise },
  privateRoundsLeft: {
    federation_id: ids.federation,
    rounds_left: 21_060,
    budget_epsilon: 8,
    target_delta: 1e-5,
    current_epsilon: spent,
  },
} as const
