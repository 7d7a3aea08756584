import { useApi } from '../../api/use-api.ts'
import { Ago, Id } from '../../parts/cells.tsx'
import { Empty, Facts, Loaded, Panel } from '../../parts/layout.tsx'
import { FederationHeader } from './federation-header.tsx'
import { type Federation, OTHERS } from './federation-records.ts'
import { Members } from './members.tsx'
import { PrivacyPanel } from './privacy-panel.tsx'
import { useRole } from './role.ts'
import { SharedModels } from './shared-models.tsx'

const Body = ({ federation }: { readonly federation: Federation }) => {
  const { isMember } = useRole(federation)
  return (
    <>
      {isMember ? (
        <>
          <Members federation={federation} />
          <PrivacyPanel federation={federation} />
          <SharedModels federation={federation} />
        </>
      ) : (
        <Panel title="Invitation">
          <Empty title={`${federation.org_id} invites you`}>
            Only members see the members, models, privacy budget, and analytics.
          </Empty>
        </Panel>
      )}
      <Panel title="Federation">
        <Facts
          entries={[
            ['Owner', federation.org_id],
            ['Description', federation.description || 'none'],
            ['Created', <Ago key="created" time={federation.created_at} />],
            ['Federation id', <Id key="id" id={federation.id} />],
          ]}
        />
      </Panel>
    </>
  )
}

/** A federation: its members and their contributions, its privacy budget, and its shared models. */
export const FederationPage = ({ federationId }: { readonly federationId: string }) => {
  const query = useApi('/api/v1/federations/{federation_id}', { path: { federation_id: federationId } }, OTHERS)
  return (
    <>
      <FederationHeader federation={query.data} />
      <Loaded query={query}>{(federation) => <Body federation={federation} />}</Loaded>
    </>
  )
}
