import type { Action } from './resource.ts'

/** The commands of `svc train` that are defined by a table. */
export const jobActions: readonly Action[] = [
  {
    name: 'list',
    summary: 'list training jobs, newest first',
    request: 'GET /api/v1/training/jobs',
    rows: 'jobs',
    columns: [
      ['ID', 'id', 'id'],
      ['NAME', 'name'],
      ['STATUS', 'status'],
      ['STRATEGY', 'strategy'],
      ['ROUNDS', ({ rounds_completed, rounds }) => `${rounds_completed}/${rounds}`],
      ['CREATED', 'created_at', 'time'],
      ['REASON', ({ reason, waiting_for }) => reason ?? waiting_for],
    ],
    options: [
      {
        flags: '--status <status>',
        help: 'only jobs in this state',
        field: 'status',
        choices: ['pending', 'running', 'completed', 'failed', 'stopped'],
      },
      { flags: '--model <model>', help: 'only jobs that started from this model, by name or id', field: 'model' },
    ],
    none: 'No training jobs. Start one with: svc train start <model>',
  },
]
