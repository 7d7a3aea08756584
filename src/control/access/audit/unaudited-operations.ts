const DEVICE = 'what devices send of themselves, many times a minute'
const READS = 'reads: it changes nothing that anybody owns'

/** The operations other than GET that leave no entry in the audit log, and why. A test has all others leave one. */
export const UNAUDITED_OPERATIONS: Readonly<Record<string, string>> = {
  registerDevice: DEVICE,
  sendHeartbeat: DEVICE,
  claimPairing: DEVICE,
  reportAssignment: DEVICE,
  submitUpdate: DEVICE,
  submitEvaluation: DEVICE,
  reportFailure: DEVICE,
  advertiseSecureKeys: DEVICE,
  dealSecureShares: DEVICE,
  revealSecureShares: DEVICE,
  addObservations: DEVICE,
  appendToUpload: 'a chunk of a file; the version that is made of the file is audited',
  previewRollout: READS,
  prepareDeployment: READS,
  replayReceipt: READS,
  testIntegration: READS,
  verifyAudit: READS,
  readInvitation: READS,
  beginProviderSignIn: 'a way to the identity provider, which counts for nothing before it answers, which is audited',
  startDeviceLogin: 'a code that counts for nothing before somebody approves it, which is audited',
  getDeviceLogin: READS,
  describeVariable: 'a query; federations keep a record of their own of them',
  compareTwoGroups: 'a query; federations keep a record of their own of them',
  compareGroups: 'a query; federations keep a record of their own of them',
  testIndependence: 'a query; federations keep a record of their own of them',
  createChatCompletion: READS,
  createEmbeddings: READS,
}
