/**
 * Jobs that may train their model only while it is shared with their organization remember it. A key that sees all models starts
 * jobs that publish into the model, unless it asks for `none`; other keys cannot publish into a model of another organization.
 * With a model of no organization, only such a key started jobs in one, such as in that of a device group.
 */
export const sharedJobModels = {
  name: '0048-shared-job-models',
  statements: [
    `update training_jobs j set settings = j.settings || '{"sharedModel": true}' from models m
      where m.id = j.model_id and j.latest_model_id is null and j.org_id is not null and m.org_id <> j.org_id
        and coalesce(j.settings->>'publish', 'none') = 'none'`,
  ],
} as const
