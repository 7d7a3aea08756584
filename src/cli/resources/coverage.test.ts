import { expect, it } from 'vitest'
import openapi from '../../../openapi.json' with { type: 'json' }
import { commandLinesOf } from '../command.ts'
import { COMMANDS } from '../commands.ts'
import { ACTIONS } from './resources.ts'

type Paths = Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>
const paths = openapi.paths as unknown as Paths
const operations = Object.values(paths).flatMap((methods) =>
  Object.values(methods).flatMap(({ operationId }) => operationId ?? []),
)

/** The operations that the other commands call. */
const COMMANDS_OF: Readonly<Record<string, string>> = {
  'keys create': 'createKey',
  'keys list': 'listKeys',
  'keys revoke': 'revokeKey',
  'keys rotate': 'rotateKey',
  dashboard: 'createSignInLink',
  login:
    'getOwnKey authorizeLogin exchangeLoginCode startDeviceLogin getDeviceLogin decideDeviceLogin exchangeDeviceCode',
  init: 'createOrg',
  org: 'getOrg getOrgSettings',
  benchmark: 'shareBenchmark listBenchmarks',
  push: 'createModel uploadVersion getUploadOffset appendToUpload',
  pull: 'downloadVersion',
  models: 'listModels',
  'models promote': 'setAlias',
  'models show': 'getVersion',
  'models versions': 'getModel',
  'models set-metadata': 'updateVersion',
  'models describe': 'updateModel',
  'models delete-version': 'deleteVersion',
  'models aliases': 'listAliases deleteAlias listAliasMoves',
  status: 'getModel listDeployments listRollouts',
  deploy: 'prepareDeployment executeDeployment',
  'devices invite': 'createPairing',
  pair: 'claimPairing',
  'train start': 'startTrainingJob',
  'train status': 'getTrainingJob listTrainingJobs',
  'train resume': 'resumeTrainingJob',
  'train extend': 'extendTrainingJob',
  'train export': 'listTrainingJobRounds',
  'federation privacy': 'estimatePrivacyCost listPrivacyHistory',
  'integrations connect-otlp': 'createIntegration testIntegration',
  'audit export': 'exportAudit',
  'audit verify': 'verifyAudit getAuditHeads',
  doctor: 'getHealth listDamagedFiles',
  backup: 'createBackup getBackup',
  'backup list': 'listBackups',
}

/** The operations that devices call, through the SDK and the agent. */
const OF_DEVICES =
  'sendHeartbeat reportAssignment listDeviceReports getRoundPlan downloadRoundModel downloadRoundControl advertiseSecureKeys dealSecureShares ' +
  'revealSecureShares submitUpdate reportFailure getEvaluationPlan downloadEvaluationModel submitEvaluation'

/** The operations that the dashboard calls. */
const OF_DASHBOARD =
  'getSession openSession showSecondFactor beginPasskeySignIn finishPasskeySignIn listPasskeys beginPasskey addPasskey renamePasskey removePasskey ' +
  'beginProviderSignIn finishProviderSignIn confirmSession closeSession listSessions revokeSession streamEvents getStatus getExperimentEstimates ' +
  'listGroupsOfDevice ' +
  'readInvitation acceptInvitation ' +
  'getAccount listOwnSessions changePassword revokeOwnSession beginTotp confirmTotp removeTotp renewRecoveryCodes ' +
  'listServedModels createChatCompletion createEmbeddings'

/** Operations that another operation makes redundant. */
const SAME_AS: Readonly<Record<string, string>> = {
  listDevices: 'searchDevices',
  addGroupDevice: 'addGroupDevices',
  removeGroupDevice: 'removeGroupDevices',
  listActiveRollouts: 'listAllRollouts',
  getCurrentRound: 'getRoundStatus',
  getPairing: 'createPairing',
}

const ofResources = ACTIONS.flatMap(({ action }) => {
  const requests = [action.request, ...(action.options ?? []).flatMap(({ request }) => request ?? [])]
  return requests.map((request) => {
    const [method, path] = request.split(' ') as [string, string]
    return paths[path]![method.toLowerCase()]!.operationId!
  })
})
const words = (text: string): readonly string[] => text.split(' ')
const named = [...Object.values(COMMANDS_OF).flatMap(words), ...words(OF_DEVICES), ...words(OF_DASHBOARD)]
const reachable = new Set([...ofResources, ...named, ...Object.keys(SAME_AS)])

it('a command, a device, or the dashboard uses every operation of the API', () => {
  expect(operations.filter((operation) => !reachable.has(operation))).toEqual([])
})

it('the tables name existing operations and commands', () => {
  expect(
    [...named, ...Object.keys(SAME_AS), ...Object.values(SAME_AS)].filter((name) => !operations.includes(name)),
  ).toEqual([])
  const lines = COMMANDS.flatMap(commandLinesOf).map((line) => line.join(' '))
  expect(Object.keys(COMMANDS_OF).filter((line) => !lines.includes(line))).toEqual([])
})
