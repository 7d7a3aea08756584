/**
 * Announcements, so that heartbeats check for training only while there is some: the ids of jobs and rounds from their start
 * until there is nothing left to announce. Without a reference: the code that adds an id removes it.
 */
export const announcements = {
  name: '0012-announcements',
  statements: [
    `create table announcements (subject_id uuid primary key)`,
    // Jobs and rounds in progress, and rounds that ended recently, which devices must still be told.
    `insert into announcements (subject_id)
      select id from training_jobs where ended_at is null
      union select id from rounds
        where status in ('pending', 'active', 'aggregating') or ended_at > now() - interval '5 minutes'`,
  ],
} as const
