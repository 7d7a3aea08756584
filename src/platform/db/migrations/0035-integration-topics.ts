/** The events that an integration receives, its position in the audit log, and its runs at a tracking server for training. */
export const integrationTopics = {
  name: '0035-integration-topics',
  statements: [
    `alter table integrations
      drop constraint integrations_kind_check,
      add constraint integrations_kind_check check (kind in ('metrics', 'logs', 'training')),
      -- Null: all of the event stream.
      add column topics text[],
      -- The last entry of each organization's audit log that was delivered; null: entries are not sent.
      add column audit_cursor jsonb`,
    `create table integration_runs (
      integration_id uuid not null references integrations on delete cascade,
      -- A training job, or a round without one.
      subject_id uuid not null,
      -- The receiver's; null until it is known.
      run_id text,
      -- How far the job or round had come when all of it was delivered; null: not yet.
      sent text,
      primary key (integration_id, subject_id)
    )`,
  ],
} as const
