import { type Command, Option } from 'commander'
import type { paths } from '../../client/client.ts'
import { PRESETS } from '../../domain/compliance.ts'
import { confirm } from '../confirm.ts'
import { Failure } from '../failure.ts'
import { explain } from '../file-errors.ts'
import { nullIfNotFound } from '../model-sources/catalog.ts'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'
import { orgFields, settingFields } from './settings.ts'

type NewOrg = paths['/api/v1/orgs']['post']['requestBody']['content']['application/json']

interface InitOptions extends ServiceOptions {
  readonly compliance?: NonNullable<NewOrg['compliance']>
  readonly region?: NonNullable<NewOrg['region']>
  readonly yes?: true
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<org_name>', 'name of the organization')
    .addOption(new Option('--compliance <rules>', 'compliance preset').choices(['hipaa', 'gdpr', 'pci', 'soc2']))
    .addOption(new Option('--region <region>', "region (default: the installation's)").choices(['us', 'eu', 'ap']))
    .option('-y, --yes', 'apply the settings of --compliance without confirmation')
    .addOption(apiBaseOption())
    .action(async (name: string, { compliance, region, yes, apiBase }: InitOptions) => {
      if (compliance !== undefined) {
        const { out, io } = session
        out.note(`Settings of the ${compliance} preset, a starting point and not a certification:`)
        for (const [setting, text] of settingFields(PRESETS[compliance])) out.note(`  ${setting}: ${text}`)
        if (compliance === 'gdpr')
          out.note(
            '  Export or erase the data of a device with svc devices export and svc devices erase (docs/compliance.md).',
          )
        if (!yes && io.stdin?.isTTY === true) await confirm(io, `Creating ${name} with these settings`)
      }
      const connection = await session.signedIn({ apiBase })
      await session.home.requireWritable()
      const key = await nullIfNotFound(connection.request((client) => client.GET('/api/v1/keys/self')))
      const org = await connection.request((client) =>
        client.POST('/api/v1/orgs', { body: { name, ...(region && { region }), ...(compliance && { compliance }) } }),
      )
      const config = {
        orgId: org.id,
        orgName: org.name,
        compliance: org.compliance,
        region: org.region,
        apiBase: connection.baseUrl,
      }
      await session.home.saveConfig(config).catch((error: Error) => {
        throw new Failure(`${org.name} was created, but is not the default organization. ${explain(error)}`, {
          advice: `To use it: svc keys create <name> --org ${org.id}, then svc login --api-key.`,
          cause: error,
        })
      })
      session.out.fields(orgFields(config))
      session.out.note(`Saved in ${session.home.configPath}. New keys belong to ${org.name}.`)
      if (key?.org_id === null)
        session.out.note(
          `Your key is not bound to an organization. With this key, svc keys create, groups, team, and federation use ${org.name}, but what other commands create, such as svc push, does not belong to it. To use it with all commands, run svc keys create <name>, then svc login --api-key.`,
        )
    })
}
