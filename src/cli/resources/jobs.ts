import { type Action, action, argument, option, type Row } from './resource.ts'

const hasNotEnded = ({ status }: Row): boolean => status === 'pending' || status === 'running'

export const stopJob: Action = action('stop', 'stop a training job', 'POST /api/v1/training/jobs/{job_id}/stop', {
  args: [
    argument('model', 'a job, by name or id; for a model, its newest job that has not ended', {
      find: 'job',
      prefer: hasNotEnded,
    }),
  ],
  done: 'Stopped job {id} after {rounds_completed} of {rounds} rounds.',
})

export const jobActions: readonly Action[] = [
  action('list', 'list training jobs, newest first', 'GET /api/v1/training/jobs', {
    rows: 'jobs',
    columns: [
      ['ID', 'id', 'id'],
      ['NAME', 'name'],
      ['MODEL', (row) => row.model_name ?? row.model_id],
      ['STATUS', 'status'],
      ['STRATEGY', 'strategy'],
      ['ROUNDS', ({ rounds_completed, rounds }) => `${rounds_completed}/${rounds}`],
      ['CREATED', 'created_at', 'time'],
      ['REASON', ({ reason, waiting_for }) => reason ?? waiting_for],
    ],
    options: [
      option('--status <status>', 'only jobs in this state', 'status', {
        choices: ['pending', 'running', 'completed', 'failed', 'stopped'],
      }),
      option('--model <model>', 'only jobs that started from this model, by name or id', 'model'),
    ],
    none: 'No training jobs. Start one with: svc train start <model>',
  }),
]
