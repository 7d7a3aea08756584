/**
 * What heartbeats have to announce, so that they look at training only while there is any: the ids of jobs and rounds from
 * their start until nothing is left to be said of them. No reference: whoever announces takes the id away again.
 */
export const announcements = {
  name: '0012-announcements',
  statements: [
    `create table announcements (subject_id uuid primary key)`,
    // What is under way; of rounds that ended a moment ago, devices are still told.
    `insert into announcements (subject_id)
      select id from training_jobs where ended_at is null
      union select id from rounds
        where status in ('pending', 'active', 'aggregating') or ended_at > now() - interval '5 minutes'`,
  ],
} as const
