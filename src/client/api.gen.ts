// Generated from openapi.json by `npm run gen`. Do not edit.
export interface paths {
    "/api/v1/audit": {
        parameters: {
        };
        /**
         * List entries of the audit log
         * @description Who did what, newest first.
         */
        get: operations["listAudit"];
    };
    "/api/v1/audit/{entry_id}": {
        parameters: {
        };
        /** Get an entry of the audit log */
        get: operations["getAuditEntry"];
    };
    "/api/v1/audit/export": {
        parameters: {
        };
        /**
         * Download the audit log
         * @description All matching entries, oldest first, as JSON lines or CSV.
         */
        get: operations["exportAudit"];
    };
    "/api/v1/audit/head": {
        parameters: {
        };
        /**
         * Get the signed heads of the audit chains
         * @description Store them outside the service: they reveal whether the log was truncated.
         */
        get: operations["getAuditHeads"];
    };
    "/api/v1/audit/verify": {
        parameters: {
        };
        /**
         * Verify the audit chains
         * @description Recompute every hash, compare saved signed heads, and report the first invalid entry.
         */
        post: operations["verifyAudit"];
    };
    "/api/v1/keys": {
        parameters: {
        };
        /**
         * List keys
         * @description List keys, newest first. Without the admin scope: only the person's own keys.
         */
        get: operations["listKeys"];
        /**
         * Create an API key
         * @description Create an API key. The response shows it once.
         */
        post: operations["createKey"];
    };
    "/api/v1/keys/self": {
        parameters: {
        };
        /**
         * Get the key of this request
         * @description The key of this request and its scopes; 404 for a session without a key.
         */
        get: operations["getOwnKey"];
    };
    "/api/v1/keys/{key_id}": {
        parameters: {
        };
        /**
         * Revoke a key and the keys it approved
         * @description Keys that have replaced it stay valid, and are named in a warning. Requires the admin scope, except for the key of the request and a person's own keys.
         */
        delete: operations["revokeKey"];
    };
    "/api/v1/keys/{key_id}/rotate": {
        parameters: {
        };
        /**
         * Rotate a key with an overlap
         * @description Creates a key with the same name, scopes, organization, and lifetime. The old key, and the sign-ins that it approved, expire after the overlap. The new key expires no later than the key of the request, or than key_lifetime_days allows. Requires the admin scope, except for the key of the request; a person's key can be rotated only by that person.
         */
        post: operations["rotateKey"];
    };
    "/api/v1/orgs": {
        parameters: {
        };
        /**
         * Create an organization
         * @description Create an organization that keys and devices can be bound to. `region` defaults to SERVICE_REGION, or us.
         */
        post: operations["createOrg"];
    };
    "/api/v1/orgs/{org_id}": {
        parameters: {
        };
        /** Get an organization */
        get: operations["getOrg"];
    };
    "/api/v1/orgs/{org_id}/settings": {
        parameters: {
        };
        /**
         * Get the settings of an organization
         * @description Includes the settings that are less strict than the compliance preset. A preset is not a certification.
         */
        get: operations["getOrgSettings"];
        /**
         * Change the settings of an organization
         * @description Takes effect at once. A setting that is less strict than the compliance preset is reported as a violation; for audit_retention_days and require_approval it is rejected. Where require_approval is on, relaxing these two requires approval by a second admin.
         */
        patch: operations["setOrgSettings"];
    };
    "/api/v1/approvals": {
        parameters: {
        };
        /**
         * List requests for approval
         * @description Pending and decided requests, newest first.
         */
        get: operations["listApprovals"];
    };
    "/api/v1/approvals/{approval_id}": {
        parameters: {
        };
        /** Get a request for approval */
        get: operations["getApproval"];
    };
    "/api/v1/approvals/{approval_id}/approve": {
        parameters: {
        };
        /**
         * Approve a request and carry it out
         * @description Requires an admin other than the requester, signed in or with a personal key. The action runs exactly as requested. If its target has changed in the meantime, or the requester is no longer allowed to do this, nothing happens: the response is 409 and the request fails.
         */
        post: operations["approveRequest"];
    };
    "/api/v1/approvals/{approval_id}/reject": {
        parameters: {
        };
        /** Reject a request */
        post: operations["rejectRequest"];
    };
    "/api/v1/approvals/{approval_id}/cancel": {
        parameters: {
        };
        /**
         * Cancel a request for approval
         * @description Only the requester and admins can cancel.
         */
        post: operations["cancelRequest"];
    };
    "/api/v1/team": {
        parameters: {
        };
        /**
         * List the people of an organization
         * @description Members in the order in which they joined, then invitations, including expired ones.
         */
        get: operations["listTeam"];
        /**
         * Invite a person to an organization
         * @description The link works once, within 7 days, and is sent by email if SERVICE_SMTP_URL is set. Inviting the same address again replaces the invitation.
         */
        post: operations["inviteMember"];
    };
    "/api/v1/team/{member_id}": {
        parameters: {
        };
        /**
         * Remove a member, or revoke an invitation
         * @description Ends the member's sessions and personal keys. The last admin cannot be removed.
         */
        delete: operations["removeMember"];
        /** Change the role of a member */
        patch: operations["setMemberRole"];
    };
    "/api/v1/audit/names/{name_kind}/{name_id}": {
        parameters: {
        };
        /**
         * Erase a name from the audit log
         * @description Erases the name of a removed person, or of a key, device, or other object, the addresses that it acted from and, for a person, the email address. The entries keep their ids, and the chain stays valid. The name of a key or device that still exists returns with its next entry. Without org_id, a key that belongs to no organization erases it in the entries of the organization `default` and in entries that belong to no organization.
         */
        delete: operations["eraseAuditName"];
    };
    "/api/v1/team/policy": {
        parameters: {
        };
        /** Get the sign-in policy of an organization */
        get: operations["getSignInPolicy"];
        /**
         * Change the sign-in policy of an organization
         * @description Takes effect immediately, including for open sessions.
         */
        patch: operations["setSignInPolicy"];
    };
    "/api/v1/invitations/read": {
        parameters: {
        };
        /** Show what an invitation is for */
        post: operations["readInvitation"];
    };
    "/api/v1/invitations/accept": {
        parameters: {
        };
        /**
         * Accept an invitation
         * @description Creates the account; then sign in with the email address and password.
         */
        post: operations["acceptInvitation"];
    };
    "/api/v1/session": {
        parameters: {
        };
        /**
         * Get the session of this browser
         * @description The signed-in person or key, and the settings that the dashboard needs. A request with the header X-Service-Background: 1, on any path, does not count as use of the session: pages send it with requests that the user did not cause.
         */
        get: operations["getSession"];
        /**
         * Sign in a browser
         * @description Takes an API key, the code of a link, or an email address and password. Sets an HttpOnly cookie that is accepted only from pages of this service. Responds with 200 when a second factor is still required: nobody is signed in until then.
         */
        post: operations["openSession"];
        /** Sign out this browser */
        delete: operations["closeSession"];
    };
    "/api/v1/session/links": {
        parameters: {
        };
        /**
         * Create a link that signs in a browser
         * @description The session acts with the key of this request. The link works once, within a minute.
         */
        post: operations["createSignInLink"];
    };
    "/api/v1/sessions": {
        parameters: {
        };
        /**
         * List browser sessions
         * @description Open sessions, newest first, at most 1,000.
         */
        get: operations["listSessions"];
    };
    "/api/v1/sessions/{session_id}": {
        parameters: {
        };
        /** End a browser session */
        delete: operations["revokeSession"];
    };
    "/api/v1/account": {
        parameters: {
        };
        /** Get your account */
        get: operations["getAccount"];
    };
    "/api/v1/account/password": {
        parameters: {
        };
        /**
         * Change your password
         * @description Ends your other sessions; this session gets a new token. Your personal keys stay valid unless revoke_keys is true.
         */
        put: operations["changePassword"];
    };
    "/api/v1/account/sessions": {
        parameters: {
        };
        /** List your sessions */
        get: operations["listOwnSessions"];
    };
    "/api/v1/account/sessions/{session_id}": {
        parameters: {
        };
        /** End one of your sessions */
        delete: operations["revokeOwnSession"];
    };
    "/api/v1/account/totp": {
        parameters: {
        };
        /**
         * Start setting up an authenticator app
         * @description Takes effect after POST /account/totp/confirm receives a code from the app within an hour, and replaces the app that is set up, if any.
         */
        post: operations["beginTotp"];
        /** Remove your authenticator app */
        delete: operations["removeTotp"];
    };
    "/api/v1/account/totp/confirm": {
        parameters: {
        };
        /**
         * Finish setting up an authenticator app
         * @description Ends your other sessions. This session gets a new token and counts as two-factor.
         */
        post: operations["confirmTotp"];
    };
    "/api/v1/account/recovery-codes": {
        parameters: {
        };
        /**
         * Generate new recovery codes
         * @description The previous codes stop working.
         */
        post: operations["renewRecoveryCodes"];
    };
    "/api/v1/team/{member_id}/second-factor": {
        parameters: {
        };
        /**
         * Reset the second factor of a member
         * @description Removes their authenticator app, passkeys, recovery codes, and link to the identity provider, and ends their sessions.
         */
        delete: operations["resetSecondFactor"];
    };
    "/api/v1/account/passkeys": {
        parameters: {
        };
        /** List your passkeys */
        get: operations["listPasskeys"];
        /**
         * Add a passkey
         * @description Ends your other sessions. This session gets a new token and counts as two-factor.
         */
        post: operations["addPasskey"];
    };
    "/api/v1/account/passkeys/options": {
        parameters: {
        };
        /**
         * Start adding a passkey
         * @description Options for navigator.credentials.create() in this browser, valid for one attempt within 5 minutes.
         */
        post: operations["beginPasskey"];
    };
    "/api/v1/account/passkeys/{passkey_id}": {
        parameters: {
        };
        /** Remove a passkey */
        delete: operations["removePasskey"];
        /** Rename a passkey */
        patch: operations["renamePasskey"];
    };
    "/api/v1/session/passkey/options": {
        parameters: {
        };
        /**
         * Begin a passkey sign-in or confirmation
         * @description Options for navigator.credentials.get() in this browser, valid for one attempt within 5 minutes.
         */
        post: operations["beginPasskeySignIn"];
    };
    "/api/v1/session/passkey": {
        parameters: {
        };
        /**
         * Sign in with a passkey
         * @description Counts as two factors, because the device verifies its user.
         */
        post: operations["finishPasskeySignIn"];
    };
    "/api/v1/session/second-factor": {
        parameters: {
        };
        /**
         * Finish a sign-in with a second factor
         * @description For the browser that is waiting for its second factor: 5 attempts within 5 minutes. Each code works once.
         */
        post: operations["showSecondFactor"];
    };
    "/api/v1/session/confirm": {
        parameters: {
        };
        /**
         * Confirm your identity
         * @description Takes a password or a passkey. Required after a period of inactivity and before sign-in factors are changed. The session gets a new token.
         */
        post: operations["confirmSession"];
    };
    "/api/v1/session/oidc": {
        parameters: {
        };
        /**
         * Begin a sign-in with the identity provider
         * @description Returns the address to send the browser to. A user who is already signed in must authenticate again there. The provider redirects the browser to /sign-in/callback, which passes the query string on to POST /session/oidc/callback.
         */
        post: operations["beginProviderSignIn"];
    };
    "/api/v1/session/oidc/callback": {
        parameters: {
        };
        /**
         * Finish a sign-in with the identity provider
         * @description Works once, within 5 minutes, in the browser that began the sign-in. Responds with 200 when a second factor is still required: nobody is signed in until then.
         */
        post: operations["finishProviderSignIn"];
    };
    "/api/v1/login/authorize": {
        parameters: {
        };
        /**
         * Approve a command-line sign-in
         * @description Approve a sign-in that the command line started in the browser.
         */
        post: operations["authorizeLogin"];
    };
    "/api/v1/login/token": {
        parameters: {
        };
        /** Exchange a sign-in code for a key */
        post: operations["exchangeLoginCode"];
    };
    "/api/v1/login/device": {
        parameters: {
        };
        /**
         * Start a sign-in without a browser
         * @description Device authorization (RFC 8628): a person approves the user code in any browser.
         */
        post: operations["startDeviceLogin"];
    };
    "/api/v1/login/device/token": {
        parameters: {
        };
        /**
         * Exchange an approved device code for a key
         * @description Until the code is approved, the response is 400 with the error authorization_pending, slow_down (wait 5 s longer between requests), expired_token, or access_denied.
         */
        post: operations["exchangeDeviceCode"];
    };
    "/api/v1/login/device/request": {
        parameters: {
        };
        /** Show the sign-in that a code belongs to */
        post: operations["getDeviceLogin"];
    };
    "/api/v1/login/device/decision": {
        parameters: {
        };
        /**
         * Approve or deny a sign-in by its code
         * @description The key gets the approver's permissions. A person's approval creates a personal key that expires after 90 days, or earlier where key_lifetime_days says so.
         */
        post: operations["decideDeviceLogin"];
    };
    "/api/v1/benchmarks": {
        parameters: {
        };
        /** List shared benchmark results */
        get: operations["listBenchmarks"];
        /**
         * Share an anonymous benchmark result
         * @description Share the measured speed of a model on a machine. Stored without the name of the organization; only the audit log of the organization records who shared which result.
         */
        post: operations["shareBenchmark"];
    };
    "/api/v1/storage/damaged-files": {
        parameters: {
        };
        /**
         * List damaged files
         * @description Stored files that are missing or whose hash no longer matches, at most 1,000. The service rehashes each file every SERVICE_SCRUB_DAYS days. A key that is bound to an organization sees only the files of that organization's versions.
         */
        get: operations["listDamagedFiles"];
    };
    "/api/v1/models/{model_id}/aliases": {
        parameters: {
        };
        /**
         * List a model's aliases
         * @description The aliases of a model with their versions.
         */
        get: operations["listAliases"];
    };
    "/api/v1/models/{model_id}/aliases/{alias}": {
        parameters: {
        };
        /**
         * Move an alias to a version
         * @description Point an alias to a version, effective from the next request. Anything already resolved does not change: a rollout of `production` continues with the version that it was created for. If the organization requires approval, the response is 202, and the alias moves when another admin approves.
         */
        put: operations["setAlias"];
        /**
         * Delete an alias
         * @description Keeps the version and the history of the alias.
         */
        delete: operations["deleteAlias"];
    };
    "/api/v1/models/{model_id}/alias-history": {
        parameters: {
        };
        /**
         * List a model's alias history
         * @description Who moved a model's aliases, when, and from which version to which; newest first.
         */
        get: operations["listAliasMoves"];
    };
    "/api/v1/models/{model_id}/versions/{version}": {
        parameters: {
        };
        /**
         * Get a version with its lineage
         * @description Where the version came from (job, round, strategy, devices, privacy spent) and where it runs.
         */
        get: operations["getVersion"];
        /**
         * Delete a version
         * @description Deletes a version with its files. Refused while an alias names it, a plan delivers it, or a training job starts from it. Its number and label are not used again.
         */
        delete: operations["deleteVersion"];
        /**
         * Change the metadata of a version
         * @description Merges entries into the metadata of a version; its file cannot be changed.
         */
        patch: operations["updateVersion"];
    };
    "/api/v1/uploads/{sha256}": {
        parameters: {
        };
        /**
         * Get the progress of an upload
         * @description The number of bytes received so far, which may be 0. An unfinished upload is kept for 24 hours after its last part.
         */
        head: operations["getUploadOffset"];
        /**
         * Append to an upload
         * @description Send the rest of a file, or part of it. uploadVersion then creates a version from the finished upload by its SHA-256.
         */
        patch: operations["appendToUpload"];
    };
    "/api/v1/models": {
        parameters: {
        };
        /**
         * List models
         * @description List the catalog, newest first.
         */
        get: operations["listModels"];
        /**
         * Create a model
         * @description Add a model to the catalog; its weights are uploaded as versions.
         */
        post: operations["createModel"];
    };
    "/api/v1/models/{model_id}": {
        parameters: {
        };
        /** Get a model with its versions */
        get: operations["getModel"];
        /** Change a model's description */
        patch: operations["updateModel"];
    };
    "/api/v1/models/{model_id}/versions/upload": {
        parameters: {
        };
        /**
         * Upload the next version of a model
         * @description Upload weights as the next version of a model, or create it from a finished upload.
         */
        post: operations["uploadVersion"];
    };
    "/api/v1/models/{model_id}/versions/{version}/download": {
        parameters: {
        };
        /**
         * Download a version's file
         * @description The file of a version; supports Range, If-None-Match, and HEAD. The first request for a format other than the uploaded one starts a conversion: the response is 404 with Retry-After until the file is ready, and 404 without Retry-After if the model cannot be converted.
         */
        get: operations["downloadVersion"];
    };
    "/api/v1/federations": {
        parameters: {
        };
        /**
         * List federations
         * @description List federations, newest first.
         */
        get: operations["listFederations"];
        /**
         * Create a federation
         * @description Create a federation, owned by the named organization.
         */
        post: operations["createFederation"];
    };
    "/api/v1/federations/{federation_id}": {
        parameters: {
        };
        /**
         * Get a federation
         * @description Visible to members and to invited organizations.
         */
        get: operations["getFederation"];
    };
    "/api/v1/federations/{federation_id}/invite": {
        parameters: {
        };
        /**
         * Invite organizations to a federation
         * @description Invite organizations. Inviting one again changes nothing.
         */
        post: operations["inviteToFederation"];
    };
    "/api/v1/federations/{federation_id}/join": {
        parameters: {
        };
        /**
         * Join a federation
         * @description Accept an invitation. A key that is not bound to an organization needs no invitation.
         */
        post: operations["joinFederation"];
    };
    "/api/v1/federations/{federation_id}/members": {
        parameters: {
        };
        /**
         * List members with their contributions
         * @description Members, with their devices' contributions to completed rounds; private rounds are left out.
         */
        get: operations["listFederationMembers"];
    };
    "/api/v1/federations/{federation_id}/members/{org_id}": {
        parameters: {
        };
        /**
         * Leave a federation or remove a member
         * @description Leave, or remove a member; also declines or withdraws an invitation.
         */
        delete: operations["removeFederationMember"];
    };
    "/api/v1/federations/{federation_id}/models": {
        parameters: {
        };
        /**
         * List models shared with a federation
         * @description Models that members may read, most recently shared first.
         */
        get: operations["listSharedModels"];
        /**
         * Share a model with a federation
         * @description Let all active members read a model. Only the owner of the federation may share.
         */
        post: operations["shareModel"];
    };
    "/api/v1/federations/{federation_id}/models/{model_id}": {
        parameters: {
        };
        /**
         * Stop sharing a model
         * @description Stop sharing a model, by its id.
         */
        delete: operations["unshareModel"];
    };
    "/api/v1/federations/{federation_id}/privacy": {
        parameters: {
        };
        /**
         * Get the privacy budget
         * @description The privacy budget, and how much of it is spent.
         */
        get: operations["getPrivacyBudget"];
    };
    "/api/v1/federations/{federation_id}/privacy/budget": {
        parameters: {
        };
        /**
         * Set the privacy budget
         * @description Set the budget. Only the owner can set it.
         */
        put: operations["setPrivacyBudget"];
    };
    "/api/v1/federations/{federation_id}/privacy/history": {
        parameters: {
        };
        /**
         * List the privacy spent per round
         * @description The cost of every private round, in the order of spending; rounds in progress last.
         */
        get: operations["listPrivacyHistory"];
    };
    "/api/v1/federations/{federation_id}/privacy/estimate": {
        parameters: {
        };
        /** Estimate the privacy cost of a round */
        get: operations["estimatePrivacyCost"];
    };
    "/api/v1/federations/{federation_id}/privacy/noise-for-epsilon": {
        parameters: {
        };
        /**
         * Get the noise multiplier for an epsilon
         * @description The lowest noise multiplier with which this number of rounds stays within an epsilon. 409 if target_epsilon is omitted and no budget is set.
         */
        get: operations["findNoise"];
    };
    "/api/v1/federations/{federation_id}/privacy/rounds-left": {
        parameters: {
        };
        /**
         * Get the number of private rounds left
         * @description How many more times `num_steps` such rounds fit the budget. 409 until a budget is set.
         */
        get: operations["countPrivateRounds"];
    };
    "/api/v1/devices/register": {
        parameters: {
        };
        /**
         * Register a device
         * @description Register a device. The response shows its API key once.
         */
        post: operations["registerDevice"];
    };
    "/api/v1/devices": {
        parameters: {
        };
        /**
         * List devices
         * @description List the devices of an organization, oldest first. With a filter, `total` is up to a minute old if the organization has 50,000 devices or more.
         */
        get: operations["listDevices"];
    };
    "/api/v1/devices/{device_id}": {
        parameters: {
        };
        /**
         * Get a device
         * @description One device, by its user-chosen id.
         */
        get: operations["getDevice"];
    };
    "/api/v1/devices/{device_id}/export": {
        parameters: {
        };
        /**
         * Export all data stored about a device
         * @description One document, with at most 1,000 rows of each kind; no secrets and no weights. `truncated` says that there are more: `offset` skips these.
         */
        get: operations["exportDevice"];
    };
    "/api/v1/devices/{device_id}/erase": {
        parameters: {
        };
        /**
         * Erase a device and its data
         * @description Deletes the device, its keys, and all data stored about it, and returns a signed receipt. 409 while a round still needs the device.
         */
        post: operations["eraseDevice"];
    };
    "/api/v1/device-erasures": {
        parameters: {
        };
        /**
         * List receipts of erased devices
         * @description Newest first.
         */
        get: operations["listDeviceErasures"];
    };
    "/api/v1/device-erasures/{erasure_id}": {
        parameters: {
        };
        /** Get the receipt of an erased device */
        get: operations["getDeviceErasure"];
    };
    "/api/v1/fleet/devices": {
        parameters: {
        };
        /**
         * Search and sort devices
         * @description Devices that the key may see, with cursor pagination: later pages take no longer than the first.
         */
        get: operations["searchDevices"];
    };
    "/api/v1/fleet/summary": {
        parameters: {
        };
        /**
         * Count devices by status and platform
         * @description The counts are up to a minute old if the key can see 50,000 devices or more.
         */
        get: operations["getFleetSummary"];
    };
    "/api/v1/device-groups": {
        parameters: {
        };
        /**
         * List device groups
         * @description List the device groups of an organization, oldest first.
         */
        get: operations["listGroups"];
        /**
         * Create a device group
         * @description Create a device group. It has no devices; with a filter, those that match.
         */
        post: operations["createGroup"];
    };
    "/api/v1/devices/{device_id}/groups": {
        parameters: {
        };
        /**
         * List the groups of a device
         * @description The groups that a device is in, oldest first; at most 100.
         */
        get: operations["listGroupsOfDevice"];
    };
    "/api/v1/device-groups/{group_id}": {
        parameters: {
        };
        /** Get a device group */
        get: operations["getGroup"];
        /**
         * Update a device group
         * @description Change the name, description, tags, or filter. Omitted fields stay as they are.
         */
        put: operations["updateGroup"];
        /**
         * Delete a device group
         * @description Delete a device group. Its devices stay registered, but lose the versions that rollouts and experiments for the group assigned: they get what other plans assign to them. Policies and training jobs for the group no longer reach any device.
         */
        delete: operations["deleteGroup"];
    };
    "/api/v1/device-groups/{group_id}/devices": {
        parameters: {
        };
        /**
         * List the devices of a group
         * @description The devices of a group, in the order in which they were added.
         */
        get: operations["listGroupDevices"];
        /** Add devices to a group */
        post: operations["addGroupDevices"];
        /** Remove devices from a group */
        delete: operations["removeGroupDevices"];
    };
    "/api/v1/device-groups/{group_id}/devices/{device_id}": {
        parameters: {
        };
        /**
         * Add a device to a group
         * @description Add one device; one that is in the group already is skipped.
         */
        post: operations["addGroupDevice"];
        /**
         * Remove a device from a group
         * @description Remove one device; one that is not in the group is skipped.
         */
        delete: operations["removeGroupDevice"];
    };
    "/api/v1/devices/{device_id}/heartbeat": {
        parameters: {
        };
        /**
         * Send a heartbeat
         * @description Report that the device is active, with metrics. The response names the round that awaits it and its assignments.
         */
        put: operations["sendHeartbeat"];
    };
    "/api/v1/devices/{device_id}/heartbeats": {
        parameters: {
        };
        /**
         * Get a device's heartbeats from the last day
         * @description Number of heartbeats in each 15-minute interval.
         */
        get: operations["getHeartbeatHistory"];
    };
    "/api/v1/devices/{device_id}/assignments": {
        parameters: {
        };
        /**
         * List a device's assignments
         * @description The versions assigned to a device, at most one per model. With If-None-Match, 304 if unchanged.
         */
        get: operations["listAssignments"];
    };
    "/api/v1/devices/{device_id}/reports": {
        parameters: {
        };
        /**
         * List a device's reports
         * @description The device's last report for each plan that assigned it a version, newest first.
         */
        get: operations["listDeviceReports"];
    };
    "/api/v1/devices/{device_id}/assignments/{plan_id}/report": {
        parameters: {
        };
        /**
         * Report the state of an assignment
         * @description Report the state of a version that a plan assigned to the device. Idempotent.
         */
        post: operations["reportAssignment"];
    };
    "/api/v1/rollouts/active": {
        parameters: {
        };
        /**
         * List active rollouts
         * @description Active rollouts, newest first.
         */
        get: operations["listActiveRollouts"];
    };
    "/api/v1/rollouts": {
        parameters: {
        };
        /**
         * List the rollouts of all models
         * @description Rollouts in every state, newest first.
         */
        get: operations["listAllRollouts"];
    };
    "/api/v1/models/{model_id}/rollouts": {
        parameters: {
        };
        /**
         * List a model's rollouts
         * @description A model's rollouts in every state, newest first.
         */
        get: operations["listRollouts"];
        /**
         * Create a rollout
         * @description Deliver a version to a growing percentage of the fleet while the rollout is healthy. Where the organization requires approval, it stays pending until another admin approves; `warnings` names the approval.
         */
        post: operations["createRollout"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}": {
        parameters: {
        };
        /**
         * Get a rollout
         * @description One rollout, with what its devices reported.
         */
        get: operations["getRollout"];
        /**
         * Cancel and delete a rollout
         * @description Cancel and delete a rollout. Its devices return to their previous assignments.
         */
        delete: operations["deleteRollout"];
    };
    "/api/v1/models/{model_id}/rollouts/dry-run": {
        parameters: {
        };
        /**
         * Preview a rollout's schedule
         * @description The schedule of a rollout that stays healthy. Creates nothing.
         */
        post: operations["previewRollout"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/history": {
        parameters: {
        };
        /**
         * List the events of a rollout
         * @description All events of a rollout, oldest first.
         */
        get: operations["getRolloutHistory"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/devices": {
        parameters: {
        };
        /**
         * List the devices of a rollout
         * @description The devices that the rollout includes or included, with their reports.
         */
        get: operations["listRolloutDevices"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/start": {
        parameters: {
        };
        /**
         * Start a pending rollout
         * @description Where the organization requires approval, the rollout stays pending until another admin approves; `warnings` names the approval.
         */
        post: operations["startRollout"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/pause": {
        parameters: {
        };
        /** Pause a rollout */
        post: operations["pauseRollout"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/resume": {
        parameters: {
        };
        /** Resume a rollout */
        post: operations["resumeRollout"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/advance": {
        parameters: {
        };
        /** Advance a rollout by one step */
        post: operations["advanceRollout"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/rollback": {
        parameters: {
        };
        /** Roll back a rollout */
        post: operations["rollbackRollout"];
    };
    "/api/v1/models/{model_id}/rollouts/{rollout_id}/percentage": {
        parameters: {
        };
        /**
         * Set the percentage of a rollout
         * @description The percentage of the fleet, or of the rollout's group. A lower one removes devices from the rollout. While its start waits for approval, a change makes that approval fail.
         */
        put: operations["setRolloutPercentage"];
    };
    "/api/v1/deploy/prepare": {
        parameters: {
        };
        /** Validate a deployment without executing it */
        post: operations["prepareDeployment"];
    };
    "/api/v1/deploy/execute": {
        parameters: {
        };
        /**
         * Deploy a version
         * @description Deliver a version to devices, a group, or all active devices. Where the organization requires approvals, a deployment that names neither devices nor a group, or reaches more than half of the devices, is `pending_approval`, and activates no device, until another admin approves it.
         */
        post: operations["executeDeployment"];
    };
    "/api/v1/deployments": {
        parameters: {
        };
        /**
         * List deployments
         * @description Deployments in every state, newest first.
         */
        get: operations["listDeployments"];
    };
    "/api/v1/deployments/{deployment_id}": {
        parameters: {
        };
        /**
         * Get a deployment
         * @description One deployment, with how many devices are in each state.
         */
        get: operations["getDeployment"];
    };
    "/api/v1/deployments/{deployment_id}/devices": {
        parameters: {
        };
        /**
         * List the devices of a deployment
         * @description The targets in order of name, with their reports.
         */
        get: operations["listDeploymentDevices"];
    };
    "/api/v1/deployments/{deployment_id}/history": {
        parameters: {
        };
        /**
         * List the events of a deployment
         * @description All events of a deployment, oldest first.
         */
        get: operations["getDeploymentHistory"];
    };
    "/api/v1/deployments/{deployment_id}/rollback": {
        parameters: {
        };
        /**
         * Roll back a deployment
         * @description Return every device to its previous assignment.
         */
        post: operations["rollbackDeployment"];
    };
    "/api/v1/deployments/{deployment_id}/promote": {
        parameters: {
        };
        /** Activate more targets of a deployment */
        post: operations["promoteDeployment"];
    };
    "/api/v1/experiments": {
        parameters: {
        };
        /**
         * List experiments
         * @description List experiments, newest first. The warnings name those that newer plans have replaced.
         */
        get: operations["listExperiments"];
        /** Create an experiment */
        post: operations["createExperiment"];
    };
    "/api/v1/experiments/{experiment_id}": {
        parameters: {
        };
        /** Get an experiment */
        get: operations["getExperiment"];
    };
    "/api/v1/experiments/{experiment_id}/start": {
        parameters: {
        };
        /**
         * Start an experiment
         * @description Assign variants to the devices of the target groups, or to all devices if there are none.
         */
        post: operations["startExperiment"];
    };
    "/api/v1/experiments/{experiment_id}/pause": {
        parameters: {
        };
        /** Pause an experiment */
        post: operations["pauseExperiment"];
    };
    "/api/v1/experiments/{experiment_id}/resume": {
        parameters: {
        };
        /** Resume an experiment */
        post: operations["resumeExperiment"];
    };
    "/api/v1/experiments/{experiment_id}/complete": {
        parameters: {
        };
        /** Complete an experiment */
        post: operations["completeExperiment"];
    };
    "/api/v1/experiments/{experiment_id}/cancel": {
        parameters: {
        };
        /** Cancel an experiment */
        post: operations["cancelExperiment"];
    };
    "/api/v1/experiments/{experiment_id}/assignment": {
        parameters: {
        };
        /**
         * Get a device's variant
         * @description A device's variant, the same for as long as the device is in the target groups.
         */
        get: operations["getExperimentAssignment"];
    };
    "/api/v1/experiments/{experiment_id}/observations": {
        parameters: {
        };
        /**
         * Add observations to an experiment
         * @description Add what devices measured while they ran their variant: one observation, or up to 1,000.
         */
        post: operations["addObservations"];
    };
    "/api/v1/experiments/{experiment_id}/analytics": {
        parameters: {
        };
        /**
         * Compare the variants of an experiment
         * @description The measurements of each variant, and whether they differ.
         */
        get: operations["getExperimentAnalytics"];
    };
    "/api/v1/experiments/{experiment_id}/estimates": {
        parameters: {
        };
        /**
         * Get an experiment's estimates over time
         * @description The primary metric of each variant and its difference from the first variant over time, oldest first. The last point is the current estimate.
         */
        get: operations["getExperimentEstimates"];
    };
    "/api/v1/pairings": {
        parameters: {
        };
        /**
         * Create a pairing code
         * @description Create a code that pairs one device within five minutes, and choose the model that the device gets.
         */
        post: operations["createPairing"];
    };
    "/api/v1/pairings/{pairing_id}": {
        parameters: {
        };
        /**
         * Get a pairing
         * @description The state of a pairing, from waiting for the device until the model is active on it.
         */
        get: operations["getPairing"];
    };
    "/api/v1/pairings/claim": {
        parameters: {
        };
        /**
         * Claim a pairing code
         * @description Claim a code as a device. A request without the device's own key registers the device and returns its key.
         */
        post: operations["claimPairing"];
    };
    "/api/v1/models/{model_id}/policy": {
        parameters: {
        };
        /** Get a model's policy */
        get: operations["getPolicy"];
        /**
         * Set a model's policy
         * @description The result of a completed round is tried on a canary, then promoted or rolled back automatically.
         */
        put: operations["setPolicy"];
        /**
         * Delete a model's policy
         * @description Delete a policy and its decisions. A canary in progress stays as it is.
         */
        delete: operations["deletePolicy"];
    };
    "/api/v1/policies": {
        parameters: {
        };
        /**
         * List the policies of all models
         * @description Every policy with its model, newest first.
         */
        get: operations["listPolicies"];
    };
    "/api/v1/models/{model_id}/policy/decisions": {
        parameters: {
        };
        /**
         * List the decisions of a policy
         * @description What the policy decided and why, newest first.
         */
        get: operations["listDecisions"];
    };
    "/api/v1/training/rounds/start": {
        parameters: {
        };
        /**
         * Start a training round
         * @description Start a training round: select devices and offer them the global model.
         */
        post: operations["startRound"];
    };
    "/api/v1/training/rounds/current": {
        parameters: {
        };
        /**
         * Get the latest round
         * @description The round of the key's organization that started last, in any state; with a key that is not bound to an organization, of all organizations.
         */
        get: operations["getCurrentRound"];
    };
    "/api/v1/training/rounds": {
        parameters: {
        };
        /**
         * List rounds
         * @description Newest first; with status, only those in this state.
         */
        get: operations["listRounds"];
    };
    "/api/v1/training/rounds/{round_id}/status": {
        parameters: {
        };
        /** Get a round */
        get: operations["getRoundStatus"];
    };
    "/api/v1/training/rounds/{round_id}/cancel": {
        parameters: {
        };
        /**
         * Cancel a round
         * @description End the round at once, as failed. Its job, if it has one, continues with another round.
         */
        post: operations["cancelRound"];
    };
    "/api/v1/training/rounds/{round_id}/plan": {
        parameters: {
        };
        /**
         * Get a round's training plan
         * @description What a device needs to take part in a round. If an asynchronous job has moved a device to this round, the device trains from this round's model once it fetches the plan or the model, and until then from the model of the round that it began with.
         */
        get: operations["getRoundPlan"];
    };
    "/api/v1/training/rounds/{round_id}/model": {
        parameters: {
        };
        /** Download a round's global model */
        get: operations["downloadRoundModel"];
    };
    "/api/v1/training/rounds/{round_id}/control": {
        parameters: {
        };
        /** Download SCAFFOLD's global control variate */
        get: operations["downloadRoundControl"];
    };
    "/api/v1/training/rounds/{round_id}/selection": {
        parameters: {
        };
        /**
         * Explain whether a device was selected
         * @description Whether a device was selected, and why or why not.
         */
        get: operations["explainSelection"];
    };
    "/api/v1/training/rounds/{round_id}/participants": {
        parameters: {
        };
        /**
         * List the participants of a round
         * @description In order of `device_identifier`.
         */
        get: operations["listRoundParticipants"];
    };
    "/api/v1/training/rounds/{round_id}/evaluation": {
        parameters: {
        };
        /**
         * Get a device's evaluation plan
         * @description For devices that received pending_evaluation_round_id in a heartbeat.
         */
        get: operations["getEvaluationPlan"];
        /**
         * Report an evaluation of a round's model
         * @description Metrics of the new model on held-out data; counts for the device that owns the key, once.
         */
        post: operations["submitEvaluation"];
    };
    "/api/v1/training/rounds/{round_id}/evaluation/model": {
        parameters: {
        };
        /** Download the model to evaluate */
        get: operations["downloadEvaluationModel"];
    };
    "/api/v1/training/rounds/{round_id}/receipt": {
        parameters: {
        };
        /** Get the receipt of a completed round */
        get: operations["getReceipt"];
    };
    "/api/v1/training/rounds/{round_id}/receipt/replay": {
        parameters: {
        };
        /**
         * Replay a receipt and compare the bytes
         * @description Aggregate the stored updates again and compare the bytes with the receipt.
         */
        post: operations["replayReceipt"];
    };
    "/api/v1/training/rounds/{round_id}/secure": {
        parameters: {
        };
        /**
         * Get the state of a secure round
         * @description The state of a secure round, and what the calling device needs for its next step.
         */
        get: operations["getSecureRound"];
    };
    "/api/v1/training/rounds/{round_id}/secure/keys": {
        parameters: {
        };
        /**
         * Submit a device's public keys
         * @description Step 1 of a secure round: a device publishes its public keys.
         */
        post: operations["advertiseSecureKeys"];
    };
    "/api/v1/training/rounds/{round_id}/secure/shares": {
        parameters: {
        };
        /**
         * Submit encrypted shares
         * @description Step 2 of a secure round: a device sends encrypted shares of its secrets to the others.
         */
        post: operations["dealSecureShares"];
    };
    "/api/v1/training/rounds/{round_id}/secure/unmask": {
        parameters: {
        };
        /**
         * Submit shares for unmasking
         * @description Step 4 of a secure round: a device reveals one share for every device that sent shares, including its own, so that the sum can be unmasked.
         */
        post: operations["revealSecureShares"];
    };
    "/api/v1/training/jobs": {
        parameters: {
        };
        /**
         * List training jobs
         * @description Newest first.
         */
        get: operations["listTrainingJobs"];
        /**
         * Start a training job
         * @description Train a model for a number of rounds, one after another.
         */
        post: operations["startTrainingJob"];
    };
    "/api/v1/training/jobs/{job_id}": {
        parameters: {
        };
        /**
         * Get a training job
         * @description A training job, with loss and accuracy by round.
         */
        get: operations["getTrainingJob"];
    };
    "/api/v1/training/jobs/{job_id}/rounds": {
        parameters: {
        };
        /**
         * List the rounds of a training job
         * @description Newest first.
         */
        get: operations["listTrainingJobRounds"];
    };
    "/api/v1/training/jobs/{job_id}/stop": {
        parameters: {
        };
        /**
         * Stop a training job
         * @description End a job at once, and its round with it.
         */
        post: operations["stopTrainingJob"];
    };
    "/api/v1/training/jobs/{job_id}/resume": {
        parameters: {
        };
        /**
         * Resume a training job
         * @description Continue a stopped or failed job from its last completed round, with the state of its strategy. 409 if that state was deleted, the federation's privacy budget does not allow the rounds, or the job's target_epsilon allows fewer than the requested number, or none.
         */
        post: operations["resumeTrainingJob"];
    };
    "/api/v1/training/jobs/{job_id}/extend": {
        parameters: {
        };
        /**
         * Extend a training job
         * @description Give a completed job more rounds; it continues with the state of its strategy. Its stop_when considers only the new rounds.
         */
        post: operations["extendTrainingJob"];
    };
    "/api/v1/training/rounds/{round_id}/updates": {
        parameters: {
        };
        /**
         * List the updates of a round
         * @description The submitted updates in order of device id, and how each compares with the others.
         */
        get: operations["listUpdates"];
        /**
         * Submit a model update
         * @description Submit locally trained weights; counts for the device that owns the key.
         */
        post: operations["submitUpdate"];
    };
    "/api/v1/training/rounds/{round_id}/failures": {
        parameters: {
        };
        /**
         * Report a failed participation
         * @description Report that the device failed, with a reason. The round no longer waits for it.
         */
        post: operations["reportFailure"];
    };
    "/api/v1/federations/{federation_id}/analytics/descriptive": {
        parameters: {
        };
        /**
         * Describe a variable by group
         * @description Mean, spread, and percentiles of a variable, by group.
         */
        post: operations["describeVariable"];
    };
    "/api/v1/federations/{federation_id}/analytics/queries": {
        parameters: {
        };
        /**
         * List analytics queries
         * @description The recorded queries, newest first.
         */
        get: operations["listAnalyticsQueries"];
    };
    "/api/v1/federations/{federation_id}/analytics/queries/{query_id}": {
        parameters: {
        };
        /** Get an analytics query */
        get: operations["getAnalyticsQuery"];
    };
    "/api/v1/federations/{federation_id}/analytics/t-test": {
        parameters: {
        };
        /** Compare two groups with Welch's t-test */
        post: operations["compareTwoGroups"];
    };
    "/api/v1/federations/{federation_id}/analytics/anova": {
        parameters: {
        };
        /**
         * Compare groups by analysis of variance
         * @description One-way analysis of variance, with Tukey's test for each pair.
         */
        post: operations["compareGroups"];
    };
    "/api/v1/federations/{federation_id}/analytics/chi-square": {
        parameters: {
        };
        /**
         * Test two variables for independence
         * @description Pearson's chi-square test of whether two variables are independent.
         */
        post: operations["testIndependence"];
    };
    "/api/v1/inference/models": {
        parameters: {
        };
        /**
         * List models of the inference server
         * @description The models of the server at SERVICE_INFERENCE_URL. 409 if it is not set.
         */
        get: operations["listServedModels"];
    };
    "/api/v1/inference/chat/completions": {
        parameters: {
        };
        /**
         * Chat with a model of the inference server
         * @description As in the OpenAI API, with the fields of this schema: others, such as `n` and `max_completion_tokens`, are ignored and named in `X-Service-Warning`, and `content` must be a string. With `stream`, the response is server-sent events. The other `X-Service-…` headers come from the inference server; its trailers follow the stream as an event `trailers`.
         */
        post: operations["createChatCompletion"];
    };
    "/api/v1/inference/embeddings": {
        parameters: {
        };
        /**
         * Embed texts on the inference server
         * @description As in the OpenAI API, for a model that computes embeddings. Fields other than `model` and `input` are ignored and named in `X-Service-Warning`.
         */
        post: operations["createEmbeddings"];
    };
    "/api/v1/health": {
        parameters: {
        };
        /**
         * Check health
         * @description Responds with 200 while the service is running.
         */
        get: operations["getHealth"];
    };
    "/api/v1/status": {
        parameters: {
        };
        /**
         * Get the status of the service
         * @description The number of devices and models, and the state of the latest round.
         */
        get: operations["getStatus"];
    };
    "/api/v1/events": {
        parameters: {
        };
        /**
         * Stream events
         * @description Stream the organization's events as server-sent events until the client disconnects, for at most 15 minutes. To continue, reconnect to any process with Last-Event-ID. 204: too many streams are open; poll instead.
         */
        get: operations["streamEvents"];
    };
    "/api/v1/integrations": {
        parameters: {
        };
        /** List integrations */
        get: operations["listIntegrations"];
        /**
         * Create an integration
         * @description Send the organization's events (logs), metrics, or training runs to a receiver, starting now.
         */
        post: operations["createIntegration"];
    };
    "/api/v1/integrations/{integration_id}": {
        parameters: {
        };
        /** Get an integration */
        get: operations["getIntegration"];
        /**
         * Delete an integration
         * @description Also deletes its queued events and dead letters.
         */
        delete: operations["deleteIntegration"];
    };
    "/api/v1/integrations/{integration_id}/pause": {
        parameters: {
        };
        /**
         * Pause an integration
         * @description While an integration is paused, events are kept for up to 24 hours; audit entries and training runs are sent from where they stopped.
         */
        post: operations["pauseIntegration"];
    };
    "/api/v1/integrations/{integration_id}/resume": {
        parameters: {
        };
        /**
         * Resume an integration
         * @description While an integration is paused, events are kept for up to 24 hours; audit entries and training runs are sent from where they stopped.
         */
        post: operations["resumeIntegration"];
    };
    "/api/v1/integrations/{integration_id}/test": {
        parameters: {
        };
        /**
         * Send a sample to an integration
         * @description Returns the receiver's response, or an error after 10 seconds (25 for MLflow, which takes several requests).
         */
        post: operations["testIntegration"];
    };
    "/api/v1/integrations/{integration_id}/dead-letters": {
        parameters: {
        };
        /**
         * List the dead letters of an integration
         * @description Events that the receiver rejected permanently, oldest first, at most 1,000.
         */
        get: operations["listDeadLetters"];
    };
    "/api/v1/integrations/{integration_id}/replay": {
        parameters: {
        };
        /**
         * Send dead letters again
         * @description Up to 100 of them, oldest first, until one is rejected again.
         */
        post: operations["replayDeadLetters"];
    };
    "/api/v1/backups": {
        parameters: {
        };
        /**
         * List backups
         * @description The 100 most recent backups, whatever their state. Requires a key that is not bound to an organization.
         */
        get: operations["listBackups"];
        /**
         * Start a backup
         * @description Copies the database, the keys, and the stored files that the target does not have yet, while the service keeps running. Requires a key that is not bound to an organization.
         */
        post: operations["createBackup"];
    };
    "/api/v1/backups/{backup_id}": {
        parameters: {
        };
        /**
         * Get a backup
         * @description Requires a key that is not bound to an organization.
         */
        get: operations["getBackup"];
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description Which observations were accepted
         * @example {
         *       "experiment_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000303",
         *       "accepted": 1,
         *       "skipped": []
         *     }
         */
        AcceptedObservations: {
            /** Format: uuid */
            experiment_id: string;
            accepted: number;
            skipped: {
                device_id: string;
                reason: string;
            }[];
        };
        /**
         * @description Default: fedavg; fedyogi, fedadagrad, and fedavgm are fedopt with that variant
         * @enum {string}
         */
        AcceptedStrategy: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff" | "xgb_bagging" | "xgb_cyclic" | "fedyogi" | "fedadagrad" | "fedavgm";
        /**
         * @description The signed-in person, and their sign-in methods
         * @example {
         *       "id": "7c1d6a52-0a3e-4b8e-9a44-1f0f4c0f7b21",
         *       "org_id": "acme",
         *       "email": "ada@acme.example",
         *       "name": "Ada",
         *       "role": "admin",
         *       "password": true,
         *       "identity_provider": false,
         *       "totp": true,
         *       "passkeys": 0,
         *       "recovery_codes_left": 10,
         *       "must_confirm": false
         *     }
         */
        Account: {
            /** Format: uuid */
            id: string;
            org_id: string;
            email: string;
            name: string | null;
            /** @enum {string} */
            role: "admin" | "member" | "viewer";
            /** @description Whether the account has a password */
            password: boolean;
            /** @description Whether the account has signed in with the identity provider */
            identity_provider: boolean;
            /** @description Whether an authenticator app is set up */
            totp: boolean;
            passkeys: number;
            recovery_codes_left: number;
            /** @description Whether adding or removing a sign-in method requires POST /session/confirm first */
            must_confirm: boolean;
        };
        /**
         * @description The accountant with the tighter bound
         * @enum {string}
         */
        Accountant: "rdp" | "pld";
        /**
         * @description The active rollouts
         * @example {
         *       "rollouts": [
         *         {
         *           "rollout_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "org_id": "acme",
         *           "version": "2.0.0",
         *           "status": "active",
         *           "percentage": 10,
         *           "initial_percentage": 10,
         *           "target_percentage": 100,
         *           "increment_step": 30,
         *           "step_interval_minutes": 60,
         *           "group_id": null,
         *           "auto_rollback": true,
         *           "reason": null,
         *           "next_step_at": "2026-03-02T10:05:00.000Z",
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "started_at": "2026-03-02T09:05:00.000Z",
         *           "ended_at": null,
         *           "ended_by": null,
         *           "updated_at": "2026-03-02T09:05:00.000Z"
         *         }
         *       ]
         *     }
         */
        ActiveRolloutList: { rollouts: components["schemas"]["RolloutSummary"][]; };
        /**
         * @description Which devices were added to a group
         * @example {
         *       "group_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000101",
         *       "added": [
         *         "pixel-8-0042"
         *       ],
         *       "skipped": [
         *         "pixel-8-0043"
         *       ]
         *     }
         */
        AddedDevices: {
            /** Format: uuid */
            group_id: string;
            added: string[];
            /** @description Already in the group, or not a device of its organization */
            skipped: string[];
        };
        /**
         * @description The added passkey
         * @example {
         *       "id": "mT5kZ2QmC7fB4Vt0cK8x1g",
         *       "name": "Ada's laptop",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "last_used_at": null,
         *       "recovery_codes": [
         *         "7kx2m-q4w9t-hz3nb-8pcrf"
         *       ]
         *     }
         */
        AddedPasskey: {
            /** @description The credential's id, base64url */
            id: string;
            /** @description A name to recognize it by */
            name: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            last_used_at: string | null;
            /** @description Shown only once; each code works once; empty if you already have some */
            recovery_codes: string[];
        };
        /**
         * @description A movable name for a version
         * @example {
         *       "model_id": "0190c5a1-1d2c-4c4c-8c8c-222222222222",
         *       "alias": "production",
         *       "version": 4,
         *       "version_label": "1.3.0",
         *       "moved_at": "2026-01-01T00:00:00.000Z",
         *       "moved_by": "0190c5a1-1d2c-4c4c-8c8c-111111111111",
         *       "moved_by_name": "ci"
         *     }
         */
        Alias: {
            /** Format: uuid */
            model_id: string;
            alias: string;
            version: number;
            version_label: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            moved_at: string;
            moved_by: string | null;
            moved_by_name: string | null;
        };
        /**
         * @description Moves of aliases, newest first
         * @example {
         *       "moves": [
         *         {
         *           "alias": "production",
         *           "from_version": 3,
         *           "from_version_label": "1.2.0",
         *           "to_version": 4,
         *           "to_version_label": "1.3.0",
         *           "moved_at": "2026-01-01T00:00:00.000Z",
         *           "moved_by": "0190c5a1-1d2c-4c4c-8c8c-111111111111",
         *           "moved_by_name": "ci"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 20,
         *       "offset": 0
         *     }
         */
        AliasHistory: {
            moves: components["schemas"]["AliasMove"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description The aliases of a model, in alphabetical order
         * @example {
         *       "aliases": [
         *         {
         *           "model_id": "0190c5a1-1d2c-4c4c-8c8c-222222222222",
         *           "alias": "production",
         *           "version": 4,
         *           "version_label": "1.3.0",
         *           "moved_at": "2026-01-01T00:00:00.000Z",
         *           "moved_by": "0190c5a1-1d2c-4c4c-8c8c-111111111111",
         *           "moved_by_name": "ci"
         *         }
         *       ]
         *     }
         */
        AliasList: { aliases: components["schemas"]["Alias"][]; };
        /** @description A move of an alias; a version is null before the first move and after a deletion */
        AliasMove: {
            alias: string;
            from_version: number | null;
            from_version_label: string | null;
            to_version: number | null;
            to_version_label: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            moved_at: string;
            moved_by: string | null;
            moved_by_name: string | null;
        };
        /**
         * @description A page of the rollouts of all models
         * @example {
         *       "rollouts": [
         *         {
         *           "rollout_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "org_id": "acme",
         *           "version": "2.0.0",
         *           "status": "active",
         *           "percentage": 10,
         *           "initial_percentage": 10,
         *           "target_percentage": 100,
         *           "increment_step": 30,
         *           "step_interval_minutes": 60,
         *           "group_id": null,
         *           "auto_rollback": true,
         *           "reason": null,
         *           "next_step_at": "2026-03-02T10:05:00.000Z",
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "started_at": "2026-03-02T09:05:00.000Z",
         *           "ended_at": null,
         *           "ended_by": null,
         *           "updated_at": "2026-03-02T09:05:00.000Z",
         *           "model_name": "next-word"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        AllRollouts: {
            rollouts: components["schemas"]["ListedRollout"][];
            total: number;
            limit: number;
            offset: number;
        };
        /** @description By time of the heartbeat or update, and by platform; unknown filters produce a warning */
        AnalyticsFilters: {
            /** Format: date-time */
            start_time?: string;
            /** Format: date-time */
            end_time?: string;
            /** @description The same as start_time and end_time, which take precedence */
            time_range?: {
                /** Format: date-time */
                start?: string;
                /** Format: date-time */
                end?: string;
            };
            platform?: components["schemas"]["Platform"] | components["schemas"]["Platform"][];
            /** @description Groups with fewer devices are withheld; values below 5 count as 5 */
            min_sample_count?: number;
        };
        /**
         * @description A query and its result
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000601",
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "org_id": "acme",
         *       "query_type": "descriptive",
         *       "variable": "local_accuracy",
         *       "request": {
         *         "variable": "local_accuracy",
         *         "group_by": "federation_member",
         *         "include_percentiles": true
         *       },
         *       "status": "completed",
         *       "result": {
         *         "groups": [
         *           {
         *             "group_id": "acme",
         *             "count": 118,
         *             "mean": 0.34,
         *             "std_dev": 0.06,
         *             "median": 0.35,
         *             "min": 0.18,
         *             "max": 0.47,
         *             "percentiles": {
         *               "p25": 0.3,
         *               "p50": 0.35,
         *               "p75": 0.39
         *             }
         *           }
         *         ],
         *         "warnings": []
         *       },
         *       "reason": null,
         *       "created_at": "2026-03-02T09:12:30.000Z"
         *     }
         */
        AnalyticsQuery: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            federation_id: string;
            org_id: string | null;
            /** @enum {string} */
            query_type: "descriptive" | "t-test" | "anova" | "chi-square";
            variable: string;
            request: { [key: string]: unknown; };
            /** @description Only in lists: fields with more than about 8,000 characters, which are empty here. Get the record itself to see them */
            omitted?: string[];
            /** @enum {string} */
            status: "completed" | "failed";
            result: { [key: string]: unknown; } | null;
            reason: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        /**
         * @description A page of queries
         * @example {
         *       "queries": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000601",
         *           "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *           "org_id": "acme",
         *           "query_type": "descriptive",
         *           "variable": "local_accuracy",
         *           "request": {
         *             "variable": "local_accuracy",
         *             "group_by": "federation_member",
         *             "include_percentiles": true
         *           },
         *           "status": "completed",
         *           "result": {
         *             "groups": [
         *               {
         *                 "group_id": "acme",
         *                 "count": 118,
         *                 "mean": 0.34,
         *                 "std_dev": 0.06,
         *                 "median": 0.35,
         *                 "min": 0.18,
         *                 "max": 0.47,
         *                 "percentiles": {
         *                   "p25": 0.3,
         *                   "p50": 0.35,
         *                   "p75": 0.39
         *                 }
         *               }
         *             ],
         *             "warnings": []
         *           },
         *           "reason": null,
         *           "created_at": "2026-03-02T09:12:30.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 20,
         *       "offset": 0
         *     }
         */
        AnalyticsQueryList: {
            queries: components["schemas"]["AnalyticsQuery"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description The result of an analysis of variance
         * @example {
         *       "query_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000601",
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "query_type": "anova",
         *       "variable": "local_accuracy",
         *       "status": "completed",
         *       "created_at": "2026-03-02T09:12:30.000Z",
         *       "f_statistic": 11.2,
         *       "p_value": 0.001,
         *       "degrees_of_freedom_between": 1,
         *       "degrees_of_freedom_within": 213,
         *       "significant": true,
         *       "effect_size": 0.05,
         *       "post_hoc_pairs": [
         *         {
         *           "group_a": "acme",
         *           "group_b": "globex",
         *           "mean_difference": 0.03,
         *           "p_value": 0.001,
         *           "significant": true
         *         }
         *       ],
         *       "groups": [
         *         {
         *           "group_id": "acme",
         *           "count": 118,
         *           "mean": 0.34,
         *           "std_dev": 0.06
         *         },
         *         {
         *           "group_id": "globex",
         *           "count": 97,
         *           "mean": 0.31,
         *           "std_dev": 0.07
         *         }
         *       ],
         *       "warnings": []
         *     }
         */
        Anova: {
            /** Format: uuid */
            query_id: string;
            /** Format: uuid */
            federation_id: string;
            /** @enum {string} */
            query_type: "descriptive" | "t-test" | "anova" | "chi-square";
            variable: string;
            /** @enum {string} */
            status: "completed" | "failed";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            f_statistic: number | null;
            p_value: number | null;
            degrees_of_freedom_between: number | null;
            degrees_of_freedom_within: number | null;
            significant: boolean;
            effect_size: number | null;
            post_hoc_pairs: components["schemas"]["ComparedPair"][];
            groups: components["schemas"]["GroupSummary"][];
            warnings: string[];
        };
        /**
         * @description A request that another admin approves or rejects
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000901",
         *       "org_id": "acme",
         *       "kind": "alias_move",
         *       "subject": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201/production",
         *       "title": "Move the alias 'production' of 'next-word' from version 1.2.0 to version 1.3.0",
         *       "status": "pending",
         *       "requested_by": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *       "requested_by_name": "ml-team",
         *       "requested_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": "2026-03-09T09:00:00.000Z",
         *       "decided_by": null,
         *       "decided_by_name": null,
         *       "decided_at": null,
         *       "reason": null
         *     }
         */
        Approval: {
            /** Format: uuid */
            id: string;
            org_id: string;
            kind: components["schemas"]["ApprovalKind"];
            /** @description What it changes: a model id with an alias, a deployment, a rollout, or an organization */
            subject: string;
            /** @description Details of the action */
            title: string;
            status: components["schemas"]["ApprovalStatus"];
            /** @description Id of a person or key */
            requested_by: string;
            requested_by_name: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            requested_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
            decided_by: string | null;
            decided_by_name: string | null;
            decided_at: string | null;
            reason: string | null;
        };
        /**
         * @description The action that approval carries out
         * @enum {string}
         */
        ApprovalKind: "alias_move" | "deployment" | "rollout_start" | "settings_change";
        /**
         * @description Requests for approval, newest first
         * @example {
         *       "approvals": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000901",
         *           "org_id": "acme",
         *           "kind": "alias_move",
         *           "subject": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201/production",
         *           "title": "Move the alias 'production' of 'next-word' from version 1.2.0 to version 1.3.0",
         *           "status": "pending",
         *           "requested_by": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *           "requested_by_name": "ml-team",
         *           "requested_at": "2026-03-02T09:00:00.000Z",
         *           "expires_at": "2026-03-09T09:00:00.000Z",
         *           "decided_by": null,
         *           "decided_by_name": null,
         *           "decided_at": null,
         *           "reason": null
         *         }
         *       ],
         *       "next": null
         *     }
         */
        ApprovalPage: {
            approvals: components["schemas"]["Approval"][];
            next: string | null;
        };
        /**
         * @description failed: approved, but its target had changed in the meantime, or the requester is no longer allowed to do this
         * @enum {string}
         */
        ApprovalStatus: "pending" | "approved" | "rejected" | "cancelled" | "expired" | "failed";
        /** @description A version that a device is to run */
        Assignment: {
            /** Format: uuid */
            plan_id: string;
            /** @enum {string} */
            kind: "rollout" | "deployment" | "experiment";
            model_id: string | null;
            model_name: string | null;
            /** @description Devices repeat it in their reports */
            version: string;
            version_number: number | null;
            format: string | null;
            model_size_bytes: number | null;
            model_hash: string | null;
            download_path: string | null;
            /** @description False: download and verify it, report ready, and keep running the current version */
            activate: boolean;
            /** @description The experiment's variant */
            variant?: string;
        };
        /**
         * @description The assignments of a device
         * @example {
         *       "device_id": "pixel-8-0042",
         *       "assignments": [
         *         {
         *           "plan_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "kind": "rollout",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "model_name": "next-word",
         *           "version": "2.0.0",
         *           "version_number": 2,
         *           "format": "pytorch",
         *           "model_size_bytes": 4812800,
         *           "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *           "download_path": "/api/v1/models/0d9f1c2e-5b7a-4c3d-8e6f-000000000201/versions/2/download",
         *           "activate": true
         *         }
         *       ]
         *     }
         */
        AssignmentList: {
            device_id: string;
            assignments: components["schemas"]["Assignment"][];
        };
        /**
         * @description Kind of actor; anonymous: the request had no valid key
         * @enum {string}
         */
        AuditActorKind: "person" | "key" | "device" | "session" | "anonymous";
        /** @description The result of verifying an organization's chain */
        AuditChain: {
            org_id: string | null;
            valid: boolean;
            entries: number;
            first_seq: number;
            /** @description The last valid entry */
            last_seq: number;
            last_hash: string;
            /** @description Number of signed heads compared */
            heads: number;
            fault_seq: number | null;
            fault: string | null;
        };
        /**
         * @description Who did what, and when
         * @example {
         *       "id": 4182,
         *       "org_id": "acme",
         *       "seq": 57,
         *       "at": "2026-03-02T09:12:30.000Z",
         *       "actor_kind": "key",
         *       "actor_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *       "actor_name": "ml-team",
         *       "credential_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *       "address": "203.0.113.7",
         *       "address_id": "q1J0c2Zr3v8mTzL0pW5nYc",
         *       "action": "pauseRollout",
         *       "object_kind": "rollout",
         *       "object_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *       "object_name": null,
         *       "changes": [
         *         {
         *           "field": "status",
         *           "from": "\"active\"",
         *           "to": "\"paused\""
         *         }
         *       ],
         *       "result": "ok",
         *       "status": null,
         *       "request_id": "0b6c4f0e-2c1d-4b57-9a55-0c9a6f0f3b11",
         *       "prev_hash": "9c1185a5c5e9fc54612808977ee8f548b2258d31aa3bb1f3f8a1f3a0c2d4e6f8",
         *       "hash": "3f0e6a8b5f4d4c1f9e1c7a2b8d6e5f40312233445566778899aabbccddeeff00"
         *     }
         */
        AuditEntry: {
            /** @description Used for paging; `seq` numbers the entries within an organization */
            id: number;
            org_id: string | null;
            seq: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
            actor_kind: components["schemas"]["AuditActorKind"];
            actor_id: string | null;
            actor_name: string | null;
            credential_id: string | null;
            address: string | null;
            address_id: string | null;
            /** @description The operationId of the request */
            action: string;
            object_kind: string | null;
            object_id: string | null;
            object_name: string | null;
            changes: components["schemas"]["AuditFieldChange"][];
            result: components["schemas"]["AuditResult"];
            status: number | null;
            request_id: string;
            /** @description Hash of the previous entry; empty for the first entry */
            prev_hash: string;
            /** @description SHA-256, hexadecimal */
            hash: string;
        };
        /** @description A changed field; secrets are redacted */
        AuditFieldChange: {
            field: string;
            from: string | null;
            to: string | null;
        };
        /** @description The head of a chain (its latest entry), signed by the service */
        AuditHead: {
            org_id: string | null;
            seq: number;
            /** @description SHA-256, hexadecimal */
            hash: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
            /** @description Ed25519, base64, of the text that docs/audit.md describes; for org_id null, its organization is '' */
            signature: string;
        };
        /**
         * @description The signed heads of the chains
         * @example {
         *       "public_key": "MCowBQYDK2VwAyEAYk3nQ0aVx8JrT5mWZ2mB4Vt0cK8x1yq5o3n7p9rUeWd=",
         *       "heads": [
         *         {
         *           "org_id": "acme",
         *           "seq": 57,
         *           "hash": "3f0e6a8b5f4d4c1f9e1c7a2b8d6e5f40312233445566778899aabbccddeeff00",
         *           "at": "2026-03-02T09:12:30.000Z",
         *           "signature": "Yk3nQ0aVx8JrT5mWZ2mB4Vt0cK8x1yq5o3n7p9rUeWdHgJfLaSiTkMvXzYYk3nQ0aVx8JrT5mWZ2mB4Vt0cKw=="
         *         }
         *       ]
         *     }
         */
        AuditHeads: {
            /** @description SPKI, base64 */
            public_key: string;
            heads: components["schemas"]["AuditHead"][];
        };
        /**
         * @description Entries of the audit log, newest first
         * @example {
         *       "entries": [
         *         {
         *           "id": 4182,
         *           "org_id": "acme",
         *           "seq": 57,
         *           "at": "2026-03-02T09:12:30.000Z",
         *           "actor_kind": "key",
         *           "actor_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *           "actor_name": "ml-team",
         *           "credential_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *           "address": "203.0.113.7",
         *           "address_id": "q1J0c2Zr3v8mTzL0pW5nYc",
         *           "action": "pauseRollout",
         *           "object_kind": "rollout",
         *           "object_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "object_name": null,
         *           "changes": [
         *             {
         *               "field": "status",
         *               "from": "\"active\"",
         *               "to": "\"paused\""
         *             }
         *           ],
         *           "result": "ok",
         *           "status": null,
         *           "request_id": "0b6c4f0e-2c1d-4b57-9a55-0c9a6f0f3b11",
         *           "prev_hash": "9c1185a5c5e9fc54612808977ee8f548b2258d31aa3bb1f3f8a1f3a0c2d4e6f8",
         *           "hash": "3f0e6a8b5f4d4c1f9e1c7a2b8d6e5f40312233445566778899aabbccddeeff00"
         *         }
         *       ],
         *       "next": "4182"
         *     }
         */
        AuditPage: {
            entries: components["schemas"]["AuditEntry"][];
            next: string | null;
        };
        /**
         * @description refused: not allowed; failed: the request changed something before it failed
         * @enum {string}
         */
        AuditResult: "ok" | "refused" | "failed";
        /**
         * @description Whether the chains are intact
         * @example {
         *       "valid": false,
         *       "chains": [
         *         {
         *           "org_id": "acme",
         *           "valid": false,
         *           "entries": 41,
         *           "first_seq": 1,
         *           "last_seq": 41,
         *           "last_hash": "3f0e6a8b5f4d4c1f9e1c7a2b8d6e5f40312233445566778899aabbccddeeff00",
         *           "heads": 1,
         *           "fault_seq": 42,
         *           "fault": "seq 42: its content does not match its hash."
         *         }
         *       ]
         *     }
         */
        AuditVerification: {
            valid: boolean;
            chains: components["schemas"]["AuditChain"][];
        };
        /**
         * @description A backup of the whole installation
         * @example {
         *       "id": "7d0b9c1e-5f6a-4b2c-8d3e-1a2b3c4d5e6f",
         *       "name": "2026-03-02T09-00-00-000Z-7d0b",
         *       "target": "/mnt/backups/tributary",
         *       "scheduled": true,
         *       "status": "completed",
         *       "reason": null,
         *       "database": "embedded",
         *       "files": 1284,
         *       "bytes": 5368709120,
         *       "copied_files": 61,
         *       "copied_bytes": 48234496,
         *       "unreadable_files": 0,
         *       "verified_at": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "ended_at": "2026-03-02T09:12:30.000Z"
         *     }
         */
        Backup: {
            /** Format: uuid */
            id: string;
            /** @description Its name in the target */
            name: string;
            target: string;
            /** @description Whether it was scheduled (SERVICE_BACKUP_HOURS) */
            scheduled: boolean;
            /** @enum {string} */
            status: "running" | "completed" | "failed";
            reason: string | null;
            database: ("embedded" | "dump" | "none") | null;
            files: number | null;
            bytes: number | null;
            copied_files: number | null;
            copied_bytes: number | null;
            unreadable_files: number | null;
            verified_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            ended_at: string | null;
        };
        /**
         * @description The latest backups, newest first
         * @example {
         *       "backups": [
         *         {
         *           "id": "7d0b9c1e-5f6a-4b2c-8d3e-1a2b3c4d5e6f",
         *           "name": "2026-03-02T09-00-00-000Z-7d0b",
         *           "target": "/mnt/backups/tributary",
         *           "scheduled": true,
         *           "status": "completed",
         *           "reason": null,
         *           "database": "embedded",
         *           "files": 1284,
         *           "bytes": 5368709120,
         *           "copied_files": 61,
         *           "copied_bytes": 48234496,
         *           "unreadable_files": 0,
         *           "verified_at": null,
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "ended_at": "2026-03-02T09:12:30.000Z"
         *         }
         *       ]
         *     }
         */
        BackupList: { backups: components["schemas"]["Backup"][]; };
        /**
         * @description A shared benchmark result
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000801",
         *       "svc_version": "1.1.0",
         *       "os": "linux",
         *       "arch": "arm64",
         *       "cpu_model": "Neoverse-N1",
         *       "cpu_cores": 4,
         *       "memory_gb": 16,
         *       "engine": "llama.cpp",
         *       "model_architecture": "llama",
         *       "model_parameters": 1235814432,
         *       "model_quantization": "q4_0",
         *       "model_megabytes": 738,
         *       "iterations": 20,
         *       "max_tokens": 128,
         *       "first_token_ms_p50": 182,
         *       "first_token_ms_p90": 201,
         *       "first_token_ms_p99": 240,
         *       "tokens_per_second_p50": 24.1,
         *       "tokens_per_second_p90": 22.8,
         *       "tokens_per_second_p99": 19.5,
         *       "total_ms_p50": 5490,
         *       "total_ms_p90": 5815,
         *       "total_ms_p99": 6804,
         *       "memory_megabytes": 1012,
         *       "reported_on": "2026-03-02"
         *     }
         */
        Benchmark: {
            /** Format: uuid */
            id: string;
            /** @description Version of svc that ran the benchmark */
            svc_version: string;
            /** @description Such as linux */
            os: string;
            /** @description Such as arm64 */
            arch: string;
            /** @description The name that the processor reports */
            cpu_model: string;
            cpu_cores: number;
            /** @description Memory of the machine */
            memory_gb: number;
            engine: components["schemas"]["Engine"];
            model_architecture: string | null;
            model_parameters: number | null;
            model_quantization: string | null;
            model_megabytes: number;
            iterations: number;
            max_tokens: number;
            first_token_ms_p50: number;
            first_token_ms_p90: number;
            first_token_ms_p99: number;
            tokens_per_second_p50: number;
            /** @description At least this fast in 90% of the runs */
            tokens_per_second_p90: number;
            tokens_per_second_p99: number;
            total_ms_p50: number;
            total_ms_p90: number;
            total_ms_p99: number;
            /** @description Memory of the loaded model */
            memory_megabytes: number;
            /**
             * Format: date
             * @description The day of the report, in UTC
             */
            reported_on: string;
        };
        /**
         * @description A page of benchmark results
         * @example {
         *       "benchmarks": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000801",
         *           "svc_version": "1.1.0",
         *           "os": "linux",
         *           "arch": "arm64",
         *           "cpu_model": "Neoverse-N1",
         *           "cpu_cores": 4,
         *           "memory_gb": 16,
         *           "engine": "llama.cpp",
         *           "model_architecture": "llama",
         *           "model_parameters": 1235814432,
         *           "model_quantization": "q4_0",
         *           "model_megabytes": 738,
         *           "iterations": 20,
         *           "max_tokens": 128,
         *           "first_token_ms_p50": 182,
         *           "first_token_ms_p90": 201,
         *           "first_token_ms_p99": 240,
         *           "tokens_per_second_p50": 24.1,
         *           "tokens_per_second_p90": 22.8,
         *           "tokens_per_second_p99": 19.5,
         *           "total_ms_p50": 5490,
         *           "total_ms_p90": 5815,
         *           "total_ms_p99": 6804,
         *           "memory_megabytes": 1012,
         *           "reported_on": "2026-03-02"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 20,
         *       "offset": 0
         *     }
         */
        BenchmarkList: {
            benchmarks: components["schemas"]["Benchmark"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description Why a round is canceled
         * @example {
         *       "reason": "Started with the wrong model"
         *     }
         */
        Cancellation: { reason?: string; };
        /**
         * @description Settings to change
         * @example {
         *       "key_lifetime_days": 365
         *     }
         */
        ChangeOrgSettings: {
            /**
             * @description Who must use two-factor sign-in
             * @enum {string}
             */
            require_mfa?: "off" | "admins" | "all";
            /** @description Maximum length of a session */
            session_hours?: number;
            reauthenticate_minutes?: number | null;
            audit_retention_days?: number | null;
            key_lifetime_days?: number | null;
            update_retention_days?: number | null;
            min_group_size?: number | null;
            /** @description Rollouts created while this is on are rolled back automatically if their health check fails */
            automatic_rollback?: boolean;
            /** @description A second admin must approve moving an alias, and deliveries that name neither devices nor a group or reach more than half of the devices */
            require_approval?: boolean;
        };
        /**
         * @description A chat that the model continues
         * @example {
         *       "model": "starter",
         *       "messages": [
         *         {
         *           "role": "user",
         *           "content": "What is the capital of France?"
         *         }
         *       ],
         *       "max_tokens": 64,
         *       "temperature": 0.7
         *     }
         */
        Chat: {
            /** @description A model that the server lists */
            model: string;
            messages: components["schemas"]["ChatMessage"][];
            /** @description Respond with server-sent events as the text is generated */
            stream?: boolean;
            stream_options?: components["schemas"]["ChatStreamOptions"];
            temperature?: number;
            top_p?: number;
            max_tokens?: number;
            seed?: number;
            stop?: string | string[];
            /** @description As in the OpenAI API. At most 65536 characters of JSON */
            response_format?: { [key: string]: unknown; };
        };
        /** @description One of the replies */
        ChatChoice: {
            index: number;
            message: components["schemas"]["ChatReply"];
            finish_reason: string | null;
        };
        /**
         * @description The reply of the model
         * @example {
         *       "id": "chatcmpl-2f1c",
         *       "object": "chat.completion",
         *       "created": 1769860800,
         *       "model": "starter",
         *       "choices": [
         *         {
         *           "index": 0,
         *           "message": {
         *             "role": "assistant",
         *             "content": "The capital of France is Paris."
         *           },
         *           "finish_reason": "stop"
         *         }
         *       ],
         *       "usage": {
         *         "prompt_tokens": 14,
         *         "completion_tokens": 8,
         *         "total_tokens": 22
         *       }
         *     }
         */
        ChatCompletion: {
            id: string;
            object: string;
            /** @description Seconds since 1970 */
            created: number;
            model: string;
            choices: components["schemas"]["ChatChoice"][];
            usage?: components["schemas"]["ChatUsage"];
        };
        /** @description A message of a chat */
        ChatMessage: {
            /** @enum {string} */
            role: "system" | "user" | "assistant";
            content: string;
        };
        /** @description The reply */
        ChatReply: {
            /** @enum {string} */
            role: "system" | "user" | "assistant";
            content: string;
            /** @description What a model that reasons wrote to work out its answer */
            reasoning_content?: string;
        };
        /** @description What a stream reports at its end */
        ChatStreamOptions: { include_usage?: boolean; };
        /** @description The number of tokens used */
        ChatUsage: {
            prompt_tokens: number;
            total_tokens: number;
            completion_tokens: number;
        };
        /**
         * @description The result of Pearson's chi-square test
         * @example {
         *       "query_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000601",
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "query_type": "chi-square",
         *       "variable": "platform, status",
         *       "status": "completed",
         *       "created_at": "2026-03-02T09:12:30.000Z",
         *       "chi_square_statistic": 2.1,
         *       "p_value": 0.55,
         *       "degrees_of_freedom": 3,
         *       "cramers_v": 0.1,
         *       "significant": false,
         *       "sample_size": 215,
         *       "warnings": []
         *     }
         */
        ChiSquare: {
            /** Format: uuid */
            query_id: string;
            /** Format: uuid */
            federation_id: string;
            /** @enum {string} */
            query_type: "descriptive" | "t-test" | "anova" | "chi-square";
            variable: string;
            /** @enum {string} */
            status: "completed" | "failed";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            chi_square_statistic: number | null;
            p_value: number | null;
            degrees_of_freedom: number | null;
            cramers_v: number | null;
            significant: boolean;
            sample_size: number | null;
            warnings: string[];
        };
        /**
         * @description A claimed pairing
         * @example {
         *       "pairing_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000304",
         *       "org_id": "acme",
         *       "status": "deploying",
         *       "reason": null,
         *       "model_name": "next-word",
         *       "model_version": "2.0.0",
         *       "device_id": "pixel-8-0042",
         *       "platform": "android",
         *       "device_state": null,
         *       "deployment_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000302",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": "2026-03-02T09:05:00.000Z",
         *       "api_key": "sk_live_c2JfK7dHs9BgUa1EXq3vR8mTzL0pW5nY"
         *     }
         */
        ClaimedPairing: {
            /** Format: uuid */
            pairing_id: string;
            org_id: string | null;
            /** @enum {string} */
            status: "waiting" | "paired" | "deploying" | "active" | "expired" | "failed";
            reason: string | null;
            model_name: string | null;
            model_version: string | null;
            device_id: string | null;
            platform: components["schemas"]["Platform"] | null;
            device_state: ("downloading" | "verifying" | "ready" | "active" | "failed") | null;
            deployment_id: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
            api_key: string | null;
        };
        /** @description Two groups compared */
        ComparedPair: {
            group_a: string;
            group_b: string;
            /** @description Mean of group_a minus mean of group_b */
            mean_difference: number;
            /** @description Tukey-Kramer: adjusted for the number of pairs */
            p_value: number;
            significant: boolean;
        };
        /**
         * @description A compliance regime
         * @enum {string}
         */
        Compliance: "hipaa" | "gdpr" | "pci" | "soc2";
        /** @description A confidence interval of a difference */
        ConfidenceInterval: {
            lower: number;
            upper: number;
            level: number;
        };
        /**
         * @description Proof of identity: a password or a passkey
         * @example {
         *       "password": "correct horse battery staple"
         *     }
         */
        Confirmation: {
            password?: string;
            /** @description The browser's PublicKeyCredential.toJSON(). At most 65536 characters of JSON */
            credential?: { [key: string]: unknown; };
        };
        /** @description A version in another format */
        ConvertedFile: {
            /** @enum {string} */
            format: "onnx" | "tflite" | "coreml";
            /** @enum {string} */
            state: "pending" | "running" | "ready" | "failed";
            reason: string | null;
            model_size_bytes: number | null;
            model_hash: string | null;
        };
        /**
         * @description A new integration; a webhook includes its secret
         * @example {
         *       "id": "5f0c7f0a-51c6-4b41-9a2f-6f4a1c0f9d11",
         *       "org_id": "acme",
         *       "kind": "logs",
         *       "type": "webhook",
         *       "name": "Release channel",
         *       "endpoint": "https://hooks.acme.example/tributary",
         *       "format": "json",
         *       "topics": [
         *         "rollout",
         *         "audit"
         *       ],
         *       "config": {
         *         "secret": "(secret)"
         *       },
         *       "status": "active",
         *       "pending": 0,
         *       "oldest_pending_at": null,
         *       "dead_letters": 0,
         *       "failures": 0,
         *       "last_error": null,
         *       "last_error_at": null,
         *       "delivered_at": "2026-03-02T09:12:30.000Z",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
         *     }
         */
        CreatedIntegration: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            kind: components["schemas"]["IntegrationKind"];
            type: components["schemas"]["IntegrationType"];
            name: string;
            endpoint: string;
            format: components["schemas"]["LogFormat"] | null;
            topics: components["schemas"]["IntegrationTopic"][] | null;
            /** @description Secrets are masked */
            config: { [key: string]: string; };
            /** @enum {string} */
            status: "active" | "paused" | "failing";
            /** @description Events, or jobs and rounds, that are waiting to be delivered */
            pending: number;
            oldest_pending_at: string | null;
            /** @description Events that the receiver rejected permanently */
            dead_letters: number;
            /** @description Consecutive failed deliveries */
            failures: number;
            last_error: string | null;
            last_error_at: string | null;
            delivered_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            secret: string | null;
        };
        /**
         * @description A new API key with its secret, which is shown only here
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *       "name": "ml-team",
         *       "prefix": "sk_live_Xq3vR8",
         *       "scopes": [
         *         "devices:read",
         *         "models:write",
         *         "training:write"
         *       ],
         *       "org_id": "acme",
         *       "kind": "service",
         *       "device_id": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": "2026-05-31T09:00:00.000Z",
         *       "revoked_at": null,
         *       "last_used_at": null,
         *       "approved_by": null,
         *       "person_id": null,
         *       "created_by": null,
         *       "replaces": null,
         *       "replaced_by": null,
         *       "exceeds_lifetime": false,
         *       "api_key": "sk_live_Xq3vR8mTzL0pW5nYc2JfK7dHs9BgUa1E"
         *     }
         */
        CreatedKey: {
            /** Format: uuid */
            id: string;
            name: string;
            /** @description First characters of the key, to recognize it */
            prefix: string;
            scopes: string[];
            org_id: string | null;
            kind: components["schemas"]["KeyKind"];
            device_id: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            expires_at: string | null;
            revoked_at: string | null;
            last_used_at: string | null;
            approved_by: string | null;
            person_id: string | null;
            created_by: string | null;
            replaces: string | null;
            replaced_by: string | null;
            /** @description Whether it outlives the organization's key_lifetime_days; always false for keys of devices */
            exceeds_lifetime: boolean;
            /** @description Shown only once; cannot be retrieved later */
            api_key: string;
        };
        /**
         * @description A pairing with its code, which is shown only here
         * @example {
         *       "pairing_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000304",
         *       "org_id": "acme",
         *       "status": "waiting",
         *       "reason": null,
         *       "model_name": "next-word",
         *       "model_version": "2.0.0",
         *       "device_id": null,
         *       "platform": "android",
         *       "device_state": null,
         *       "deployment_id": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": "2026-03-02T09:05:00.000Z",
         *       "code": "WHYS-F5TP",
         *       "service_url": "https://fleet.example.org"
         *     }
         */
        CreatedPairing: {
            /** Format: uuid */
            pairing_id: string;
            org_id: string | null;
            /** @enum {string} */
            status: "waiting" | "paired" | "deploying" | "active" | "expired" | "failed";
            reason: string | null;
            model_name: string | null;
            model_version: string | null;
            device_id: string | null;
            platform: components["schemas"]["Platform"] | null;
            device_state: ("downloading" | "verifying" | "ready" | "active" | "failed") | null;
            deployment_id: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
            /** @description Shown only here; pairs one device within 5 minutes */
            code: string;
            service_url: string | null;
        };
        /** @description A stored file that has changed or cannot be read */
        DamagedFile: {
            sha256: string;
            size: number;
            /** @description What is wrong with it */
            damage: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            damaged_at: string;
            versions: components["schemas"]["VersionOfFile"][];
        };
        /**
         * @description Damaged files, and the time since which all files were checked
         * @example {
         *       "files": [
         *         {
         *           "sha256": "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *           "size": 4812800,
         *           "damage": "Its bytes have changed.",
         *           "damaged_at": "2026-03-02T09:12:30.000Z",
         *           "versions": [
         *             {
         *               "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *               "version": 2
         *             }
         *           ]
         *         }
         *       ],
         *       "stored_files": 1284,
         *       "oldest_check_at": "2026-03-02T09:00:00.000Z"
         *     }
         */
        DamagedFileList: {
            files: components["schemas"]["DamagedFile"][];
            /** @description Number of stored files */
            stored_files: number;
            oldest_check_at: string | null;
        };
        /** @description An event that the receiver rejected permanently */
        DeadLetter: {
            id: number;
            type: string;
            event: { [key: string]: unknown; };
            reason: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
        };
        /**
         * @description Events that the receiver rejected permanently
         * @example {
         *       "dead_letters": [
         *         {
         *           "id": 3,
         *           "type": "rollout.changed",
         *           "event": {
         *             "id": "812",
         *             "type": "rollout.changed",
         *             "org_id": "acme",
         *             "subject": {
         *               "kind": "rollout",
         *               "id": "c0a8f1d2-3b4e-4f5a-8b6c-7d8e9f0a1b2c"
         *             },
         *             "payload": {
         *               "status": "completed",
         *               "percentage": 100
         *             },
         *             "time": "2026-03-02T09:00:00.000Z"
         *           },
         *           "reason": "The receiver returned 400: unknown type",
         *           "at": "2026-03-02T09:12:30.000Z"
         *         }
         *       ]
         *     }
         */
        DeadLetterList: { dead_letters: components["schemas"]["DeadLetter"][]; };
        /** @description The decision of a policy about a round */
        Decision: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            round_id: string;
            round_number: number;
            /** Format: uuid */
            aggregate_model_id: string;
            /** @description Label of the version that contains the aggregate of the round */
            version: string;
            /** @enum {string} */
            status: "observing" | "promoted" | "rolled_back";
            reason: string | null;
            canary_rollout_id: string | null;
            promotion_rollout_id: string | null;
            comparisons: components["schemas"]["PolicyComparison"][];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            decided_at: string | null;
        };
        /**
         * @description A page of a policy's decisions
         * @example {
         *       "decisions": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000305",
         *           "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *           "round_number": 7,
         *           "aggregate_model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000202",
         *           "version": "3.0.0",
         *           "status": "promoted",
         *           "reason": "The canary is no worse.",
         *           "canary_rollout_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "promotion_rollout_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "comparisons": [
         *             {
         *               "metric": "accuracy",
         *               "canary": {
         *                 "devices": 24,
         *                 "mean": 0.34
         *               },
         *               "current": {
         *                 "devices": 96,
         *                 "mean": 0.33
         *               },
         *               "interval": {
         *                 "lower": -0.006,
         *                 "upper": 0.026
         *               },
         *               "margin": 0.02,
         *               "finding": "no_worse"
         *             }
         *           ],
         *           "created_at": "2026-03-02T09:05:00.000Z",
         *           "decided_at": "2026-03-02T10:05:00.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        DecisionList: {
            decisions: components["schemas"]["Decision"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description A deleted device group
         * @example {
         *       "group_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000101",
         *       "deleted": true
         *     }
         */
        DeletedGroup: {
            /** Format: uuid */
            group_id: string;
            deleted: boolean;
        };
        /**
         * @description A deleted rollout
         * @example {
         *       "rollout_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *       "deleted": true
         *     }
         */
        DeletedRollout: {
            /** Format: uuid */
            rollout_id: string;
            deleted: boolean;
        };
        /** @description An event of a rollout or deployment */
        DeliveryEvent: {
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
            event: string;
            /** @description State after the event */
            status: string;
            percentage: number | null;
            reason: string | null;
            actor: string | null;
        };
        /**
         * @description A deployment with the states of its devices
         * @example {
         *       "deployment_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000302",
         *       "org_id": "acme",
         *       "model_name": "next-word",
         *       "model_version": "2.0.0",
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "status": "started",
         *       "strategy": "canary",
         *       "rollout_percentage": 50,
         *       "target_count": 2,
         *       "activated_count": 1,
         *       "reason": null,
         *       "switched_at": null,
         *       "deadline_at": "2026-03-09T09:00:00.000Z",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "ended_at": null,
         *       "devices": {
         *         "active": 1
         *       }
         *     }
         */
        Deployment: {
            /** Format: uuid */
            deployment_id: string;
            org_id: string | null;
            model_name: string;
            model_version: string;
            model_id: string | null;
            status: components["schemas"]["DeploymentStatus"];
            /** @enum {string} */
            strategy: "canary" | "immediate" | "blue_green";
            rollout_percentage: number;
            target_count: number;
            activated_count: number;
            reason: string | null;
            switched_at: string | null;
            deadline_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            ended_at: string | null;
            /** @description How many activated devices are in each state; of a failed or rolled-back deployment, withdrawn: it had not failed when the plan ended, and returns to its previous version */
            devices: { [key: string]: number; };
        };
        /** @description A target and what it reported */
        DeploymentDevice: {
            device_id: string;
            activated: boolean;
            /**
             * @description waiting: not activated yet; assigned: activated, with no report yet; withdrawn: it had not failed when the plan ended, and returns to its previous version
             * @enum {string}
             */
            state: "waiting" | "assigned" | "downloading" | "verifying" | "ready" | "active" | "failed" | "withdrawn";
            version: string | null;
            reason: string | null;
            reported_at: string | null;
        };
        /**
         * @description A page of a deployment's targets
         * @example {
         *       "devices": [
         *         {
         *           "device_id": "pixel-8-0042",
         *           "activated": true,
         *           "state": "active",
         *           "version": "2.0.0",
         *           "reason": null,
         *           "reported_at": "2026-03-02T09:12:30.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        DeploymentDeviceList: {
            devices: components["schemas"]["DeploymentDevice"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description A page of the events of a deployment
         * @example {
         *       "events": [
         *         {
         *           "at": "2026-03-02T09:05:00.000Z",
         *           "event": "execute",
         *           "status": "started",
         *           "percentage": 50,
         *           "reason": null,
         *           "actor": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        DeploymentHistory: {
            events: components["schemas"]["DeliveryEvent"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description A page of deployments
         * @example {
         *       "deployments": [
         *         {
         *           "deployment_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000302",
         *           "org_id": "acme",
         *           "model_name": "next-word",
         *           "model_version": "2.0.0",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "status": "started",
         *           "strategy": "canary",
         *           "rollout_percentage": 50,
         *           "target_count": 2,
         *           "activated_count": 1,
         *           "reason": null,
         *           "switched_at": null,
         *           "deadline_at": "2026-03-09T09:00:00.000Z",
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "ended_at": null
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        DeploymentList: {
            deployments: components["schemas"]["DeploymentSummary"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description The state of a deployment
         * @enum {string}
         */
        DeploymentStatus: "pending_approval" | "started" | "completed" | "failed" | "rolled_back" | "rejected";
        /** @description A deployment in a list */
        DeploymentSummary: {
            /** Format: uuid */
            deployment_id: string;
            org_id: string | null;
            model_name: string;
            model_version: string;
            model_id: string | null;
            status: components["schemas"]["DeploymentStatus"];
            /** @enum {string} */
            strategy: "canary" | "immediate" | "blue_green";
            rollout_percentage: number;
            target_count: number;
            activated_count: number;
            reason: string | null;
            switched_at: string | null;
            deadline_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            ended_at: string | null;
        };
        /**
         * @description A deployment to validate
         * @example {
         *       "model_name": "next-word",
         *       "model_version": "2.0.0",
         *       "group": "beta-testers"
         *     }
         */
        DeploymentToPrepare: {
            /** @description Name or id of a model in the catalog, or name@version; a name that is not in it is accepted with a warning, and devices resolve it */
            model_name: string;
            /** @description A version of it, an alias, or latest */
            model_version: string;
            /** @description Ids of the target devices, besides those of the group; default without a group: all active devices */
            devices?: string[];
            /** @description Id or name of a device group */
            group?: string;
            /**
             * @description Only devices of this platform
             * @enum {string}
             */
            platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
        };
        /** @description A variable in one group */
        DescribedGroup: {
            group_id: string;
            count: number;
            mean: number;
            std_dev: number | null;
            median: number | null;
            min: number;
            max: number;
            percentiles: {
                p25: number | null;
                p50: number | null;
                p75: number | null;
            } | null;
        };
        /**
         * @description A variable described by group
         * @example {
         *       "query_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000601",
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "query_type": "descriptive",
         *       "variable": "local_accuracy",
         *       "status": "completed",
         *       "created_at": "2026-03-02T09:12:30.000Z",
         *       "groups": [
         *         {
         *           "group_id": "acme",
         *           "count": 118,
         *           "mean": 0.34,
         *           "std_dev": 0.06,
         *           "median": 0.35,
         *           "min": 0.18,
         *           "max": 0.47,
         *           "percentiles": {
         *             "p25": 0.3,
         *             "p50": 0.35,
         *             "p75": 0.39
         *           }
         *         }
         *       ],
         *       "warnings": []
         *     }
         */
        Description: {
            /** Format: uuid */
            query_id: string;
            /** Format: uuid */
            federation_id: string;
            /** @enum {string} */
            query_type: "descriptive" | "t-test" | "anova" | "chi-square";
            variable: string;
            /** @enum {string} */
            status: "completed" | "failed";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            groups: components["schemas"]["DescribedGroup"][];
            warnings: string[];
        };
        /**
         * @description A device and what it last reported
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *       "device_id": "pixel-8-0042",
         *       "platform": "android",
         *       "capabilities": {
         *         "memory_gb": 8,
         *         "cpu_cores": 9
         *       },
         *       "org_id": "acme",
         *       "trains": true,
         *       "status": "active",
         *       "metrics": {
         *         "battery_level": 87,
         *         "charging": true
         *       },
         *       "last_heartbeat": "2026-03-02T09:12:30.000Z",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "updated_at": "2026-03-02T09:12:30.000Z"
         *     }
         */
        Device: {
            /** Format: uuid */
            id: string;
            device_id: string;
            org_id: string | null;
            platform: components["schemas"]["Platform"];
            capabilities: { [key: string]: unknown; };
            /** @description False: the device runs models but does not take part in rounds */
            trains: boolean;
            status: components["schemas"]["DeviceStatus"];
            metrics: { [key: string]: unknown; } | null;
            /** @description Only in lists: fields with more than about 8,000 characters, which are empty here. Get the record itself to see them */
            omitted?: string[];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            last_heartbeat: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updated_at: string;
        };
        /**
         * @description The code that a program polls with
         * @example {
         *       "device_code": "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS8Q"
         *     }
         */
        DeviceCode: { device_code: string; };
        /** @description A condition on one attribute of a device */
        DeviceCondition: {
            /** @description platform, trains, device_id, or capabilities.<key>. Dots separate nested keys; a backslash makes the next character part of a key */
            field: string;
            /**
             * @description lt, lte, gt, and gte compare numbers, prefix compares text; values of different types are never equal. A missing value meets only ne and exists: false
             * @enum {string}
             */
            op: "eq" | "ne" | "lt" | "lte" | "gt" | "gte" | "in" | "exists" | "prefix";
            /** @description Text, a number, true, or false; a list of these for in; true or false for exists */
            value: string | number | boolean | (string | number | boolean)[];
        };
        /**
         * @description The receipt of an erased device
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000044",
         *       "org_id": "acme",
         *       "device": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *       "device_hash": "q0m3Jp1nX8sVZt5yB7rKdA",
         *       "erased_at": "2026-03-02T10:05:00.000Z",
         *       "by": {
         *         "kind": "key",
         *         "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701"
         *       },
         *       "erased": {
         *         "device": 1,
         *         "groups": 1,
         *         "rounds": 3,
         *         "updates": 2,
         *         "keys": 1,
         *         "audit_names": 1
         *       },
         *       "kept": [
         *         {
         *           "what": "references in the audit log",
         *           "why": "Its hash chain must stay intact; the names are erased."
         *         }
         *       ],
         *       "document": "{\"id\":\"0d9f1c2e-5b7a-4c3d-8e6f-000000000044\",\"org_id\":\"acme\",\"device\":\"0d9f1c2e-5b7a-4c3d-8e6f-000000000042\",\"device_hash\":\"q0m3Jp1nX8sVZt5yB7rKdA\",\"erased_at\":\"2026-03-02T10:05:00.000Z\",\"by\":{\"kind\":\"key\",\"id\":\"0d9f1c2e-5b7a-4c3d-8e6f-000000000701\"},\"erased\":{\"device\":1,\"groups\":1,\"rounds\":3,\"updates\":2,\"keys\":1,\"audit_names\":1},\"kept\":[{\"what\":\"references in the audit log\",\"why\":\"Its hash chain must stay intact; the names are erased.\"}]}",
         *       "signature": "n3tYw0sVb2Jm5xQe8uKf1A==",
         *       "public_key": "MCowBQYDK2VwAyEA7c1n9Yq0mJ2vXz4t"
         *     }
         */
        DeviceErasure: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            /**
             * Format: uuid
             * @description The id that the service gave the device
             */
            device: string;
            /** @description A keyed hash of organization and device_id */
            device_hash: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            erased_at: string;
            by: components["schemas"]["ErasedBy"];
            /** @description Rows of each kind that were deleted */
            erased: { [key: string]: number; };
            kept: components["schemas"]["KeptData"][];
            /** @description The receipt as it was signed: JSON text */
            document: string;
            /** @description Ed25519 over document, base64 */
            signature: string;
            /** @description SPKI, base64: the key that signs heads of the audit log */
            public_key: string;
        };
        /**
         * @description A page of receipts
         * @example {
         *       "erasures": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000044",
         *           "device": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *           "erased_at": "2026-03-02T10:05:00.000Z",
         *           "by": {
         *             "kind": "key",
         *             "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701"
         *           },
         *           "rows": 9
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        DeviceErasureList: {
            erasures: components["schemas"]["DeviceErasureSummary"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description Confirmation of which device to erase
         * @example {
         *       "confirm": "pixel-8-0042"
         *     }
         */
        DeviceErasureRequest: {
            /** @description The device_id */
            confirm: string;
        };
        /** @description A receipt in a list */
        DeviceErasureSummary: {
            /** Format: uuid */
            id: string;
            /**
             * Format: uuid
             * @description The id that the service gave the device
             */
            device: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            erased_at: string;
            by: components["schemas"]["ErasedBy"];
            rows: number;
        };
        /**
         * @description All data stored about a device
         * @example {
         *       "exported_at": "2026-03-02T10:05:00.000Z",
         *       "device": {
         *         "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *         "device_id": "pixel-8-0042",
         *         "platform": "android",
         *         "capabilities": {
         *           "memory_gb": 8,
         *           "cpu_cores": 9
         *         },
         *         "org_id": "acme",
         *         "trains": true,
         *         "status": "active",
         *         "metrics": {
         *           "battery_level": 87,
         *           "charging": true
         *         },
         *         "last_heartbeat": "2026-03-02T09:12:30.000Z",
         *         "created_at": "2026-03-02T09:00:00.000Z",
         *         "updated_at": "2026-03-02T09:12:30.000Z"
         *       },
         *       "heartbeats": {
         *         "from": "2026-03-02T09:00:00.000Z",
         *         "counts": [
         *           15,
         *           0,
         *           14
         *         ]
         *       },
         *       "assignments": [
         *         {
         *           "plan_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "kind": "rollout",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "model_name": "next-word",
         *           "version": "2.0.0",
         *           "version_number": 2,
         *           "format": "pytorch",
         *           "model_size_bytes": 4812800,
         *           "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *           "download_path": "/api/v1/models/0d9f1c2e-5b7a-4c3d-8e6f-000000000201/versions/2/download",
         *           "activate": true
         *         }
         *       ],
         *       "data": {
         *         "groups": {
         *           "rows": [
         *             {
         *               "group_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000101",
         *               "added_at": "2026-03-02T09:05:00.000Z"
         *             }
         *           ],
         *           "truncated": false
         *         }
         *       }
         *     }
         */
        DeviceExport: {
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            exported_at: string;
            device: components["schemas"]["Device"];
            heartbeats: components["schemas"]["ExportedHeartbeats"];
            assignments: components["schemas"]["Assignment"][];
            data: { [key: string]: components["schemas"]["ExportedRows"]; };
        };
        /**
         * @description The groups that a device is in
         * @example {
         *       "device_id": "pixel-8-0042",
         *       "groups": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000101",
         *           "org_id": "acme",
         *           "name": "beta-testers",
         *           "description": "Employees who test new versions",
         *           "tags": [
         *             "beta"
         *           ],
         *           "group_type": "static",
         *           "device_count": 2,
         *           "filter": null,
         *           "created_at": "2026-03-02T09:00:00.000Z"
         *         }
         *       ]
         *     }
         */
        DeviceGroups: {
            device_id: string;
            groups: components["schemas"]["Group"][];
        };
        /**
         * @description A page of devices
         * @example {
         *       "devices": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *           "device_identifier": "pixel-8-0042",
         *           "org_id": "acme",
         *           "platform": "android",
         *           "status": "active",
         *           "last_seen_at": "2026-03-02T09:12:30.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        DeviceList: {
            devices: components["schemas"]["DeviceSummary"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description A program that asks to sign in
         * @example {
         *       "client_name": "svc on build-server-7",
         *       "address": "203.0.113.24",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": "2026-03-02T09:10:00.000Z",
         *       "decision": null
         *     }
         */
        DeviceLogin: {
            /** @description Name that the program gave */
            client_name: string;
            /** @description Address of the requester */
            address: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
            decision: ("approved" | "denied") | null;
        };
        /**
         * @description Whether to approve the sign-in
         * @example {
         *       "user_code": "WDJB-MKHT",
         *       "approve": true
         *     }
         */
        DeviceLoginDecision: {
            /** @description As shown, with or without the hyphen */
            user_code: string;
            approve: boolean;
        };
        /**
         * @description The codes of a sign-in (RFC 8628, section 3.2)
         * @example {
         *       "device_code": "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS8Q",
         *       "user_code": "WDJB-MKHT",
         *       "verification_uri": "https://fleet.example.org/login/device",
         *       "verification_uri_complete": "https://fleet.example.org/login/device?user_code=WDJB-MKHT",
         *       "expires_in": 600,
         *       "interval": 5
         *     }
         */
        DeviceLoginStart: {
            /** @description The code that the program polls with; keep it secret */
            device_code: string;
            /** @description The code that the person enters */
            user_code: string;
            /** @description The page on which to enter it */
            verification_uri: string;
            /** @description The same page with the code filled in, for a QR code */
            verification_uri_complete: string;
            /** @description Seconds */
            expires_in: number;
            /** @description Minimum seconds between the program's requests */
            interval: number;
        };
        /** @description A device's last report on the version that a plan assigned to it */
        DeviceReport: {
            /** Format: uuid */
            plan_id: string;
            /** @enum {string} */
            kind: "rollout" | "deployment" | "experiment";
            model_id: string | null;
            model_name: string | null;
            state: components["schemas"]["ReportState"];
            version: string;
            reason: string | null;
            metrics: { [key: string]: number | null; } | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            reported_at: string;
        };
        /**
         * @description A device's last report for each plan
         * @example {
         *       "device_id": "pixel-8-0042",
         *       "reports": [
         *         {
         *           "plan_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "kind": "rollout",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "model_name": "next-word",
         *           "state": "active",
         *           "version": "2.0.0",
         *           "reason": null,
         *           "metrics": {
         *             "accuracy": 0.33
         *           },
         *           "reported_at": "2026-03-02T09:12:30.000Z"
         *         }
         *       ]
         *     }
         */
        DeviceReports: {
            device_id: string;
            reports: components["schemas"]["DeviceReport"][];
        };
        /**
         * @description inactive: no recent heartbeat, or the device reported itself inactive
         * @enum {string}
         */
        DeviceStatus: "active" | "inactive";
        /** @description A device in a list */
        DeviceSummary: {
            /** Format: uuid */
            id: string;
            device_identifier: string;
            org_id: string;
            platform: components["schemas"]["Platform"];
            status: components["schemas"]["DeviceStatus"];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            last_seen_at: string;
        };
        /**
         * @description Devices to add to a group
         * @example {
         *       "device_ids": [
         *         "pixel-8-0042",
         *         "pixel-8-0043"
         *       ],
         *       "added_by": "ml-team"
         *     }
         */
        DevicesToAdd: {
            /** @description User-chosen ids */
            device_ids: string[];
            /** @description A label for audits */
            added_by?: string;
        };
        /**
         * @description Devices to remove from a group
         * @example {
         *       "device_ids": [
         *         "pixel-8-0043"
         *       ]
         *     }
         */
        DevicesToRemove: {
            /** @description User-chosen ids */
            device_ids: string[];
        };
        /** @description Each device also trains a personal model near the global one; the server averages (Li et al. 2021). */
        DittoOptions: {
            /**
             * @description Weight of the proximal term of the personal model.
             * @default 0.1
             */
            lambda?: number;
        };
        /** @description An email address */
        Email: string;
        /** @description The vector of one text */
        Embedding: {
            object: string;
            index: number;
            embedding: number[];
        };
        /**
         * @description A vector for each text
         * @example {
         *       "object": "list",
         *       "data": [
         *         {
         *           "object": "embedding",
         *           "index": 0,
         *           "embedding": [
         *             0.12,
         *             -0.4,
         *             0.9
         *           ]
         *         },
         *         {
         *           "object": "embedding",
         *           "index": 1,
         *           "embedding": [
         *             0.1,
         *             -0.5,
         *             0.8
         *           ]
         *         }
         *       ],
         *       "model": "my-embedder",
         *       "usage": {
         *         "prompt_tokens": 8,
         *         "total_tokens": 8
         *       }
         *     }
         */
        EmbeddingList: {
            object: string;
            data: components["schemas"]["Embedding"][];
            model: string;
            usage?: components["schemas"]["EmbeddingsUsage"];
        };
        /**
         * @description Texts to embed
         * @example {
         *       "model": "my-embedder",
         *       "input": [
         *         "A cat sleeps.",
         *         "A dog barks."
         *       ]
         *     }
         */
        EmbeddingsRequest: {
            /** @description A model that the server lists */
            model: string;
            input: string | string[];
        };
        /** @description The number of tokens used */
        EmbeddingsUsage: {
            prompt_tokens: number;
            total_tokens: number;
        };
        /**
         * @description An inference engine
         * @enum {string}
         */
        Engine: "llama.cpp" | "onnxruntime" | "mlx-lm" | "mlc-llm" | "mnn" | "vllm" | "openai";
        /** @description Who erased it */
        ErasedBy: {
            kind: string;
            /** Format: uuid */
            id: string;
        };
        /**
         * @description What went wrong, and what to do about it
         * @example {
         *       "error": "not_found",
         *       "message": "Device 'pixel-8-0043' does not exist, or this key has no access to it.",
         *       "status_code": 404
         *     }
         */
        Error: {
            /**
             * @description Machine-readable code
             * @enum {string}
             */
            error: "bad_request" | "authorization_pending" | "slow_down" | "expired_token" | "access_denied" | "unauthorized" | "forbidden" | "not_found" | "conflict" | "expectation_failed" | "rate_limited" | "internal_error" | "upstream_failed" | "upstream_busy" | "unavailable" | "upstream_timeout" | "insufficient_storage";
            /** @description Human-readable message */
            message: string;
            /** @description The HTTP status */
            status_code: number;
        };
        /** @description Estimates of an experiment at one time */
        EstimatesPoint: {
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            at: string;
            variants: {
                name: string;
                /** @description Devices that reported the primary metric */
                devices: number;
                mean: number | null;
                lower: number | null;
                upper: number | null;
            }[];
            comparisons: {
                variant: string;
                difference: number | null;
                lower: number | null;
                upper: number | null;
            }[];
        };
        /** @description Metrics for a model on the devices' held-out data */
        Evaluation: {
            devices: number;
            num_samples: number;
            metrics: { [key: string]: components["schemas"]["MetricSummary"]; };
        };
        /**
         * @description What a device needs to evaluate a model
         * @example {
         *       "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "round_number": 7,
         *       "hyperparameters": {
         *         "local_epochs": 1,
         *         "batch_size": 32,
         *         "learning_rate": 0.05
         *       },
         *       "timeout_at": "2026-03-02T09:15:00.000Z",
         *       "job_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000402",
         *       "model": {
         *         "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000202",
         *         "version": 1,
         *         "format": "pytorch",
         *         "model_size_bytes": 4812800,
         *         "model_hash": "sha256:5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99"
         *       }
         *     }
         */
        EvaluationPlan: {
            /** Format: uuid */
            round_id: string;
            round_number: number;
            hyperparameters: { [key: string]: unknown; };
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            timeout_at: string;
            /** Format: uuid */
            job_id?: string;
            /** @description The model, if any, and the updates are raw little-endian float32 vectors */
            raw_vector?: boolean;
            model: {
                /** Format: uuid */
                model_id: string;
                version: number;
                format: string;
                model_size_bytes: number;
                model_hash: string;
            };
        };
        /** @description A device's metrics for a model on its held-out data */
        EvaluationReport: {
            num_samples: number;
            /** @description May include loss and accuracy (0 to 1). At most 32; names: at most 64 letters, digits, and _ . : @ / + -, a letter first. A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0 */
            metrics: { [key: string]: number; };
            /** @description Only with an update: whether the device will evaluate the job's last model if a heartbeat response asks for it */
            final_model?: boolean;
        };
        /**
         * @description An accepted evaluation
         * @example {
         *       "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401"
         *     }
         */
        EvaluationTaken: {
            /** Format: uuid */
            round_id: string;
        };
        /**
         * @description An experiment
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000303",
         *       "org_id": "acme",
         *       "name": "next-word-2",
         *       "status": "running",
         *       "variants": [
         *         {
         *           "name": "current",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "version": "1.0.0",
         *           "allocation": 0.5
         *         },
         *         {
         *           "name": "candidate",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "version": "2.0.0",
         *           "allocation": 0.5
         *         }
         *       ],
         *       "target_groups": [
         *         "0d9f1c2e-5b7a-4c3d-8e6f-000000000101"
         *       ],
         *       "primary_metric": "accuracy",
         *       "confidence_level": 0.95,
         *       "reason": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "started_at": "2026-03-02T09:05:00.000Z",
         *       "ended_at": null,
         *       "warnings": []
         *     }
         */
        Experiment: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            name: string;
            status: components["schemas"]["ExperimentStatus"];
            variants: components["schemas"]["Variant"][];
            target_groups: string[];
            primary_metric: string;
            confidence_level: number;
            reason: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            started_at: string | null;
            ended_at: string | null;
            warnings: string[];
        };
        /**
         * @description How the variants of an experiment compare
         * @example {
         *       "experiment_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000303",
         *       "status": "running",
         *       "variants": [
         *         {
         *           "name": "current",
         *           "sample_size": 120,
         *           "failed_devices": 0,
         *           "accuracy": 0.31,
         *           "loss": null,
         *           "allocation": 0.5,
         *           "metrics": {
         *             "accuracy": {
         *               "devices": 120,
         *               "observations": 840,
         *               "mean": 0.31,
         *               "std_dev": 0.06
         *             }
         *           }
         *         },
         *         {
         *           "name": "candidate",
         *           "sample_size": 120,
         *           "failed_devices": 0,
         *           "accuracy": 0.33,
         *           "loss": null,
         *           "allocation": 0.5,
         *           "metrics": {
         *             "accuracy": {
         *               "devices": 120,
         *               "observations": 840,
         *               "mean": 0.33,
         *               "std_dev": 0.06
         *             }
         *           }
         *         }
         *       ],
         *       "p_value": 0.011,
         *       "significant": true,
         *       "confidence_level": 0.95,
         *       "primary_metric": "accuracy",
         *       "metric": "accuracy",
         *       "comparisons": [
         *         {
         *           "variant": "candidate",
         *           "baseline": "current",
         *           "difference": 0.02,
         *           "t_statistic": 2.58,
         *           "degrees_of_freedom": 238,
         *           "p_value": 0.011,
         *           "adjusted_p_value": 0.011,
         *           "effect_size": 0.33,
         *           "confidence_interval": {
         *             "lower": 0.004,
         *             "upper": 0.036,
         *             "level": 0.95
         *           },
         *           "always_valid_interval": {
         *             "lower": -0.006,
         *             "upper": 0.046,
         *             "level": 0.95
         *           },
         *           "decided": false
         *         }
         *       ],
         *       "sample_ratio": {
         *         "chi_square_statistic": 0,
         *         "degrees_of_freedom": 1,
         *         "p_value": 1,
         *         "mismatch": false
         *       },
         *       "warnings": []
         *     }
         */
        ExperimentAnalytics: {
            /** Format: uuid */
            experiment_id: string;
            status: components["schemas"]["ExperimentStatus"];
            variants: components["schemas"]["MeasuredVariant"][];
            p_value: number | null;
            significant: boolean;
            confidence_level: number;
            primary_metric: string;
            /** @description The metric that is compared */
            metric: string;
            comparisons: components["schemas"]["VariantComparison"][];
            sample_ratio: {
                chi_square_statistic: number;
                degrees_of_freedom: number;
                p_value: number;
                /** @description p below 0.001, with at least five devices expected of each variant: do not trust the comparisons. Also true, with the figures of the devices that reported the metric, if only these do not match */
                mismatch: boolean;
            } | null;
            warnings: string[];
        };
        /**
         * @description Estimates of an experiment over time
         * @example {
         *       "experiment_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000303",
         *       "primary_metric": "accuracy",
         *       "confidence_level": 0.95,
         *       "points": [
         *         {
         *           "at": "2026-03-02T09:05:00.000Z",
         *           "variants": [
         *             {
         *               "name": "current",
         *               "devices": 120,
         *               "mean": 0.31,
         *               "lower": 0.299,
         *               "upper": 0.321
         *             },
         *             {
         *               "name": "candidate",
         *               "devices": 120,
         *               "mean": 0.33,
         *               "lower": 0.319,
         *               "upper": 0.341
         *             }
         *           ],
         *           "comparisons": [
         *             {
         *               "variant": "candidate",
         *               "difference": 0.02,
         *               "lower": -0.006,
         *               "upper": 0.046
         *             }
         *           ]
         *         }
         *       ]
         *     }
         */
        ExperimentEstimates: {
            /** Format: uuid */
            experiment_id: string;
            primary_metric: string;
            confidence_level: number;
            points: components["schemas"]["EstimatesPoint"][];
        };
        /**
         * @description A page of experiments
         * @example {
         *       "experiments": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000303",
         *           "org_id": "acme",
         *           "name": "next-word-2",
         *           "status": "running",
         *           "variants": [
         *             {
         *               "name": "current",
         *               "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *               "version": "1.0.0",
         *               "allocation": 0.5
         *             },
         *             {
         *               "name": "candidate",
         *               "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *               "version": "2.0.0",
         *               "allocation": 0.5
         *             }
         *           ],
         *           "target_groups": [
         *             "0d9f1c2e-5b7a-4c3d-8e6f-000000000101"
         *           ],
         *           "primary_metric": "accuracy",
         *           "confidence_level": 0.95,
         *           "reason": null,
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "started_at": "2026-03-02T09:05:00.000Z",
         *           "ended_at": null
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0,
         *       "warnings": []
         *     }
         */
        ExperimentList: {
            experiments: components["schemas"]["ExperimentSummary"][];
            total: number;
            limit: number;
            offset: number;
            warnings: string[];
        };
        /**
         * @description The state of an experiment
         * @enum {string}
         */
        ExperimentStatus: "draft" | "running" | "paused" | "completed" | "cancelled";
        /** @description An experiment in a list */
        ExperimentSummary: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            name: string;
            status: components["schemas"]["ExperimentStatus"];
            variants: components["schemas"]["Variant"][];
            target_groups: string[];
            primary_metric: string;
            confidence_level: number;
            reason: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            started_at: string | null;
            ended_at: string | null;
        };
        /** @description Heartbeats from the last day */
        ExportedHeartbeats: {
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            from: string;
            /** @description Number of heartbeats in each 15-minute interval since then (96 in all) */
            counts: number[];
        };
        /** @description Rows of one kind, without secrets or weights */
        ExportedRows: {
            rows: { [key: string]: unknown; }[];
            /** @description Whether there are more rows after these */
            truncated: boolean;
        };
        /**
         * @description Why a device failed
         * @example {
         *       "reason": "The battery is too low to train"
         *     }
         */
        Failure: { reason: string; };
        /** @description Why devices failed */
        FailureReason: {
            reason: string | null;
            devices: number;
        };
        /** @description The mean change drives Adam on the server (Reddi et al. 2021). */
        FedadamOptions: {
            /**
             * @description paper: v starts at tau squared; flower: bias correction, and v starts at 0.
             * @default paper
             * @enum {string}
             */
            form?: "paper" | "flower";
            /**
             * @description Server learning rate.
             * @default 0.1
             */
            server_learning_rate?: number;
            /** @description Decay rate of the first moment (momentum); default 0.9, or 0 for adagrad. */
            beta1?: number;
            /**
             * @description Decay rate of the second moment; unused by momentum and adagrad.
             * @default 0.99
             */
            beta2?: number;
            /**
             * @description Degree of adaptivity: smaller is more adaptive.
             * @default 0.001
             */
            tau?: number;
        };
        /** @description The mean of all updates, weighted by their samples (McMahan et al. 2017). */
        FedavgOptions: Record<string, never>;
        /** @description Asynchronous: every K updates change the model, weighted by staleness (Nguyen et al. 2022). */
        FedbuffOptions: {
            /**
             * @description K, the number of updates per aggregation.
             * @default 10
             */
            buffer?: number;
            /**
             * @description Server learning rate.
             * @default 1
             */
            server_learning_rate?: number;
            /**
             * @description a in (1 + staleness)^-a, the weight of a late update.
             * @default 0.5
             */
            staleness_exponent?: number;
            /**
             * @description Updates of greater staleness are refused.
             * @default 50
             */
            max_staleness?: number;
        };
        /**
         * @description Organizations that train together
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "name": "keyboard-alliance",
         *       "org_id": "acme",
         *       "description": "Two keyboard makers train one next-word model",
         *       "status": "active",
         *       "member_count": 2,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "membership": {
         *         "role": "owner",
         *         "status": "active"
         *       }
         *     }
         */
        Federation: {
            /** Format: uuid */
            id: string;
            name: string;
            description: string;
            /** @description The owner */
            org_id: string;
            /** @enum {string} */
            status: "active";
            /** @description Active members, including the owner */
            member_count: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            membership: {
                role: components["schemas"]["MemberRole"];
                status: components["schemas"]["MemberStatus"];
            } | null;
        };
        /**
         * @description A page of federations
         * @example {
         *       "federations": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *           "name": "keyboard-alliance",
         *           "org_id": "acme",
         *           "description": "Two keyboard makers train one next-word model",
         *           "status": "active",
         *           "member_count": 2,
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "membership": {
         *             "role": "owner",
         *             "status": "active"
         *           }
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        FederationList: {
            federations: components["schemas"]["Federation"][];
            total: number;
            limit: number;
            offset: number;
        };
        /** @description The median of every coordinate (Yin et al. 2018). */
        FedmedianOptions: Record<string, never>;
        /** @description The mean change drives an optimizer on the server (Reddi et al. 2021; momentum: Hsu et al. 2019). */
        FedoptOptions: {
            /**
             * @description Which optimizer.
             * @default yogi
             * @enum {string}
             */
            variant?: "momentum" | "adagrad" | "yogi" | "adam";
            /** @description Server learning rate; default 1 for momentum, 0.1 for the others. */
            server_learning_rate?: number;
            /** @description Decay rate of the first moment (momentum); default 0.9, or 0 for adagrad. */
            beta1?: number;
            /**
             * @description Decay rate of the second moment; unused by momentum and adagrad.
             * @default 0.99
             */
            beta2?: number;
            /**
             * @description Degree of adaptivity: smaller is more adaptive.
             * @default 0.001
             */
            tau?: number;
        };
        /** @description Devices stay near the global model and may submit partial work; the server averages (Li et al. 2020). */
        FedproxOptions: {
            /**
             * @description Weight of the proximal term.
             * @default 0.01
             */
            mu?: number;
        };
        /** @description The mean of every coordinate without its lowest and highest values (Yin et al. 2018). */
        FedtrimmedavgOptions: {
            /**
             * @description Share dropped at each end: floor(trim * n) updates.
             * @default 0.2
             */
            trim?: number;
        };
        /**
         * @description A page of devices
         * @example {
         *       "devices": [
         *         {
         *           "id": "0b6c4f0e-2c1d-4b57-9a55-0c9a6f0f3b11",
         *           "device_id": "pixel-8-0043",
         *           "org_id": "acme",
         *           "platform": "android",
         *           "capabilities": {
         *             "memory_mb": 8192
         *           },
         *           "trains": true,
         *           "status": "active",
         *           "metrics": {
         *             "battery": 0.83
         *           },
         *           "last_heartbeat": "2026-01-31T12:00:00Z",
         *           "created_at": "2026-01-12T09:00:00Z",
         *           "updated_at": "2026-01-31T12:00:00Z"
         *         }
         *       ],
         *       "next": "WyJwaXhlbC04LTAwNDMiLCIwYjZjNGYwZS0yYzFkLTRiNTctOWE1NS0wYzlhNmYwZjNiMTEiXQ",
         *       "total": 31200
         *     }
         */
        FleetDevices: {
            devices: components["schemas"]["Device"][];
            next: string | null;
            total: number | null;
        };
        /**
         * @description Device counts of the fleet
         * @example {
         *       "total": 31200,
         *       "active": 28040,
         *       "platforms": [
         *         {
         *           "platform": "android",
         *           "total": 31200,
         *           "active": 28040
         *         }
         *       ],
         *       "last_heard": [
         *         14020,
         *         14020,
         *         0
         *       ]
         *     }
         */
        FleetSummary: {
            total: number;
            active: number;
            platforms: components["schemas"]["PlatformCount"][];
            /** @description Number of devices whose last heartbeat was in each of the last 60 minutes, latest minute first */
            last_heard: number[];
        };
        /**
         * @description The framework of a model
         * @enum {string}
         */
        Framework: "pytorch" | "tensorflow" | "xgboost" | "sklearn";
        /**
         * @description A device group
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000101",
         *       "org_id": "acme",
         *       "name": "beta-testers",
         *       "description": "Employees who test new versions",
         *       "tags": [
         *         "beta"
         *       ],
         *       "group_type": "static",
         *       "device_count": 2,
         *       "filter": null,
         *       "created_at": "2026-03-02T09:00:00.000Z"
         *     }
         */
        Group: {
            /** Format: uuid */
            id: string;
            org_id: string;
            name: string;
            description: string;
            group_type: string;
            tags: string[];
            device_count: number;
            filter: components["schemas"]["DeviceCondition"][] | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        /**
         * @description Changes to a device group; omitted fields stay as they are
         * @example {
         *       "description": "Employees and volunteers who test new versions",
         *       "tags": [
         *         "beta",
         *         "volunteers"
         *       ]
         *     }
         */
        GroupChanges: {
            /** @description Unique in the organization */
            name?: string;
            /** @description Free text */
            description?: string;
            /** @description Labels to search by */
            tags?: string[];
            filter?: components["schemas"]["DeviceCondition"][] | null;
        };
        /** @description A device in a group */
        GroupDevice: {
            /** Format: uuid */
            id: string;
            device_identifier: string;
            org_id: string;
            platform: components["schemas"]["Platform"];
            status: components["schemas"]["DeviceStatus"];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            last_seen_at: string;
            added_by: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            added_at: string;
        };
        /**
         * @description A page of the devices in a group
         * @example {
         *       "devices": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *           "device_identifier": "pixel-8-0042",
         *           "org_id": "acme",
         *           "platform": "android",
         *           "status": "active",
         *           "last_seen_at": "2026-03-02T09:12:30.000Z",
         *           "added_by": "ml-team",
         *           "added_at": "2026-03-02T09:05:00.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        GroupDeviceList: {
            devices: components["schemas"]["GroupDevice"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description A page of device groups
         * @example {
         *       "groups": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000101",
         *           "org_id": "acme",
         *           "name": "beta-testers",
         *           "description": "Employees who test new versions",
         *           "tags": [
         *             "beta"
         *           ],
         *           "group_type": "static",
         *           "device_count": 2,
         *           "filter": null,
         *           "created_at": "2026-03-02T09:00:00.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        GroupList: {
            groups: components["schemas"]["Group"][];
            total: number;
            limit: number;
            offset: number;
        };
        /** @description A variable in one group */
        GroupSummary: {
            group_id: string;
            count: number;
            mean: number;
            std_dev: number | null;
        };
        /**
         * @description The service is running
         * @example {
         *       "status": "healthy",
         *       "version": "1.1.0",
         *       "timestamp": "2026-03-02T09:12:30.000Z"
         *     }
         */
        Health: {
            status: string;
            version: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            timestamp: string;
        };
        /**
         * @description A device's report about itself; capabilities that it omits are kept
         * @example {
         *       "status": "active",
         *       "metrics": {
         *         "battery_level": 87,
         *         "charging": true
         *       }
         *     }
         */
        Heartbeat: {
            status?: components["schemas"]["DeviceStatus"];
            /** @description A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0. At most 65536 characters of JSON */
            metrics?: { [key: string]: unknown; };
            /** @description False: the device runs models but does not take part in rounds */
            trains?: boolean;
            /** @description A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0. At most 65536 characters of JSON */
            capabilities?: { [key: string]: unknown; };
        };
        /**
         * @description A device's heartbeats from the last day
         * @example {
         *       "device_id": "pixel-8-0042",
         *       "from": "2026-03-02T09:00:00.000Z",
         *       "slot_seconds": 900,
         *       "counts": [
         *         15,
         *         0,
         *         14
         *       ]
         *     }
         */
        HeartbeatHistory: {
            device_id: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            from: string;
            /** @description How long each slot is */
            slot_seconds: number;
            /** @description Number of heartbeats in each of the 96 slots since then, the current slot last */
            counts: number[];
        };
        /**
         * @description The round that awaits the device, and its assignments
         * @example {
         *       "status": "active",
         *       "last_heartbeat": "2026-03-02T09:12:30.000Z",
         *       "pending_round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "assignments": [
         *         {
         *           "plan_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "kind": "rollout",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "model_name": "next-word",
         *           "version": "2.0.0",
         *           "version_number": 2,
         *           "format": "pytorch",
         *           "model_size_bytes": 4812800,
         *           "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *           "download_path": "/api/v1/models/0d9f1c2e-5b7a-4c3d-8e6f-000000000201/versions/2/download",
         *           "activate": true
         *         }
         *       ],
         *       "assignments_tag": "8c1f5e0a",
         *       "next_heartbeat_seconds": 60,
         *       "message": "Heartbeat recorded. A round awaits this device."
         *     }
         */
        HeartbeatResponse: {
            status: components["schemas"]["DeviceStatus"];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            last_heartbeat: string;
            /** Format: uuid */
            pending_round_id?: string;
            /**
             * Format: uuid
             * @description The round whose new model the device should evaluate
             */
            pending_evaluation_round_id?: string;
            /** @description The device's assignments; absent if there are none or they are unchanged */
            assignments?: components["schemas"]["Assignment"][];
            /** @description Changes when the assignments change. Without assignments: 'none' if known_assignments was sent, else absent */
            assignments_tag?: string;
            /** @description When to send the next heartbeat; random, so that a large fleet does not send all at once */
            next_heartbeat_seconds?: number;
            message: string;
        };
        /**
         * @description A receiver of metrics, logs, or training runs
         * @example {
         *       "id": "5f0c7f0a-51c6-4b41-9a2f-6f4a1c0f9d11",
         *       "org_id": "acme",
         *       "kind": "logs",
         *       "type": "webhook",
         *       "name": "Release channel",
         *       "endpoint": "https://hooks.acme.example/tributary",
         *       "format": "json",
         *       "topics": [
         *         "rollout",
         *         "audit"
         *       ],
         *       "config": {
         *         "secret": "(secret)"
         *       },
         *       "status": "active",
         *       "pending": 0,
         *       "oldest_pending_at": null,
         *       "dead_letters": 0,
         *       "failures": 0,
         *       "last_error": null,
         *       "last_error_at": null,
         *       "delivered_at": "2026-03-02T09:12:30.000Z",
         *       "created_at": "2026-03-02T09:00:00.000Z"
         *     }
         */
        Integration: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            kind: components["schemas"]["IntegrationKind"];
            type: components["schemas"]["IntegrationType"];
            name: string;
            endpoint: string;
            format: components["schemas"]["LogFormat"] | null;
            topics: components["schemas"]["IntegrationTopic"][] | null;
            /** @description Secrets are masked */
            config: { [key: string]: string; };
            /** @enum {string} */
            status: "active" | "paused" | "failing";
            /** @description Events, or jobs and rounds, that are waiting to be delivered */
            pending: number;
            oldest_pending_at: string | null;
            /** @description Events that the receiver rejected permanently */
            dead_letters: number;
            /** @description Consecutive failed deliveries */
            failures: number;
            last_error: string | null;
            last_error_at: string | null;
            delivered_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        /**
         * @description Kind of data that is sent
         * @enum {string}
         */
        IntegrationKind: "metrics" | "logs" | "training";
        /**
         * @description Integrations
         * @example {
         *       "integrations": [
         *         {
         *           "id": "5f0c7f0a-51c6-4b41-9a2f-6f4a1c0f9d11",
         *           "org_id": "acme",
         *           "kind": "logs",
         *           "type": "webhook",
         *           "name": "Release channel",
         *           "endpoint": "https://hooks.acme.example/tributary",
         *           "format": "json",
         *           "topics": [
         *             "rollout",
         *             "audit"
         *           ],
         *           "config": {
         *             "secret": "(secret)"
         *           },
         *           "status": "active",
         *           "pending": 0,
         *           "oldest_pending_at": null,
         *           "dead_letters": 0,
         *           "failures": 0,
         *           "last_error": null,
         *           "last_error_at": null,
         *           "delivered_at": "2026-03-02T09:12:30.000Z",
         *           "created_at": "2026-03-02T09:00:00.000Z"
         *         }
         *       ]
         *     }
         */
        IntegrationList: { integrations: components["schemas"]["Integration"][]; };
        /**
         * @description The expected kind of the integration
         * @example {
         *       "kind": "logs"
         *     }
         */
        IntegrationOfKind: {
            /**
             * @description Rejected if the integration is of another kind
             * @enum {string}
             */
            kind?: "metrics" | "logs" | "training";
        };
        /**
         * @description The receiver's response to a sample
         * @example {
         *       "ok": true,
         *       "status": 204,
         *       "response": "",
         *       "milliseconds": 41
         *     }
         */
        IntegrationTest: {
            ok: boolean;
            status: number | null;
            /** @description First 500 characters of the response, or why the receiver could not be reached */
            response: string;
            milliseconds: number;
        };
        /** @enum {string} */
        IntegrationTopic: "round" | "job" | "model" | "rollout" | "deployment" | "experiment" | "policy" | "device" | "group" | "federation" | "approval" | "file" | "audit";
        /**
         * @description prometheus, opentelemetry, datadog, and statsd take metrics; otlp, webhook, splunk, elasticsearch, and syslog take logs; mlflow takes training
         * @enum {string}
         */
        IntegrationType: "prometheus" | "opentelemetry" | "datadog" | "statsd" | "otlp" | "webhook" | "splunk" | "elasticsearch" | "syslog" | "mlflow";
        /**
         * @description Organizations to invite
         * @example {
         *       "org_ids": [
         *         "globex"
         *       ]
         *     }
         */
        Invitation: { org_ids: string[]; };
        /**
         * @description An accepted invitation
         * @example {
         *       "token": "mB92K27uhbUJU1p1r_wW1gFWFOEjXkdBjftJeZ4CVPw",
         *       "name": "Bob",
         *       "password": "correct horse battery staple"
         *     }
         */
        InvitationAcceptance: {
            /** @description From the link of the invitation */
            token: string;
            /** @description What to call you */
            name?: string;
            /** @description At least 12 characters */
            password: string;
        };
        /**
         * @description The token of an invitation
         * @example {
         *       "token": "mB92K27uhbUJU1p1r_wW1gFWFOEjXkdBjftJeZ4CVPw"
         *     }
         */
        InvitationToken: {
            /** @description From the link of the invitation */
            token: string;
        };
        /**
         * @description What an invitation is for
         * @example {
         *       "org_id": "acme",
         *       "email": "bob@acme.example",
         *       "role": "member",
         *       "expires_at": "2026-03-09T09:00:00.000Z"
         *     }
         */
        InvitationView: {
            org_id: string;
            email: string;
            role: components["schemas"]["Role"];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
        };
        /**
         * @description Which organizations were invited
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "invited": [
         *         "globex"
         *       ],
         *       "skipped": []
         *     }
         */
        InvitedOrgs: {
            /** Format: uuid */
            federation_id: string;
            invited: string[];
            /** @description Organizations that were already members or invited */
            skipped: string[];
        };
        /**
         * @description A training job
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000402",
         *       "org_id": "acme",
         *       "name": "next-word-march",
         *       "status": "running",
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "publish": "last",
         *       "model_version": 1,
         *       "latest_model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000202",
         *       "strategy": "fedavg",
         *       "strategy_options": {},
         *       "rounds": 20,
         *       "rounds_completed": 6,
         *       "rounds_failed_in_a_row": 0,
         *       "min_devices": 10,
         *       "target_devices": 10,
         *       "over_selection": 1.3,
         *       "timeout_seconds": 600,
         *       "report_window_seconds": null,
         *       "wait_for_devices_seconds": 3600,
         *       "group_id": null,
         *       "federation_id": null,
         *       "hyperparameters": {
         *         "local_epochs": 1,
         *         "batch_size": 32,
         *         "learning_rate": 0.05
         *       },
         *       "privacy": null,
         *       "secure_aggregation": null,
         *       "stop_when": null,
         *       "metric": "loss",
         *       "goal": "minimize",
         *       "ended_by": null,
         *       "reason": null,
         *       "waiting_until": null,
         *       "waiting_for": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "started_at": "2026-03-02T09:00:00.000Z",
         *       "ended_at": null,
         *       "resumed_at": null,
         *       "optimizer_state": "none"
         *     }
         */
        Job: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            name: string | null;
            status: components["schemas"]["JobStatus"];
            model_id: string | null;
            model_name?: string | null;
            /** @enum {string} */
            publish: "last" | "every" | "best" | "none";
            model_version: number | null;
            latest_model_id: string | null;
            strategy: components["schemas"]["Strategy"];
            strategy_options: { [key: string]: unknown; };
            rounds: number;
            rounds_completed: number;
            rounds_failed_in_a_row: number;
            /** @description Minimum number of updates in a round, as requested; krum and multikrum raise it to 2f + 3, where f is strategy_options.byzantine */
            min_devices: number;
            /** @description Number of updates that a round aims for; with fedbuff, the number of devices that train at once */
            target_devices: number;
            over_selection: number;
            timeout_seconds: number;
            report_window_seconds: number | null;
            wait_for_devices_seconds: number;
            evaluation_seconds?: number;
            group_id: string | null;
            federation_id: string | null;
            hyperparameters: { [key: string]: unknown; };
            /** @description Only in lists: fields with more than about 8,000 characters, which are empty here. Get the record itself to see them */
            omitted?: string[];
            privacy: components["schemas"]["JobPrivacy"] | null;
            secure_aggregation: components["schemas"]["SecureAggregation"] | null;
            stop_when: components["schemas"]["StopCondition"] | null;
            /** @description The metric that stop_when and `publish: best` use: loss (the default), accuracy, one that devices report (f1), or one from the held-out evaluation (evaluation.f1) */
            metric: string;
            /**
             * @description Which values of metric are better: as requested, otherwise inferred from its name
             * @enum {string}
             */
            goal: "minimize" | "maximize";
            /** @description The model, if any, and the updates are raw little-endian float32 vectors */
            raw_vector?: boolean;
            ended_by: ("rounds_done" | "converged" | "budget_spent" | "rounds_failed" | "no_devices" | "cannot_start" | "stopped") | null;
            reason: string | null;
            waiting_until: string | null;
            waiting_for: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            started_at: string | null;
            ended_at: string | null;
            resumed_at: string | null;
            /**
             * @description State that the strategy keeps between rounds (moments, control variates). deleted: the job cannot be resumed, because its state's retention period has passed
             * @enum {string}
             */
            optimizer_state: "none" | "kept" | "deleted";
        };
        /**
         * @description A training job with its latest rounds
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000402",
         *       "org_id": "acme",
         *       "name": "next-word-march",
         *       "status": "running",
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "publish": "last",
         *       "model_version": 1,
         *       "latest_model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000202",
         *       "strategy": "fedavg",
         *       "strategy_options": {},
         *       "rounds": 20,
         *       "rounds_completed": 6,
         *       "rounds_failed_in_a_row": 0,
         *       "min_devices": 10,
         *       "target_devices": 10,
         *       "over_selection": 1.3,
         *       "timeout_seconds": 600,
         *       "report_window_seconds": null,
         *       "wait_for_devices_seconds": 3600,
         *       "group_id": null,
         *       "federation_id": null,
         *       "hyperparameters": {
         *         "local_epochs": 1,
         *         "batch_size": 32,
         *         "learning_rate": 0.05
         *       },
         *       "privacy": null,
         *       "secure_aggregation": null,
         *       "stop_when": null,
         *       "metric": "loss",
         *       "goal": "minimize",
         *       "ended_by": null,
         *       "reason": null,
         *       "waiting_until": null,
         *       "waiting_for": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "started_at": "2026-03-02T09:00:00.000Z",
         *       "ended_at": null,
         *       "resumed_at": null,
         *       "optimizer_state": "none",
         *       "model_name": "next-word",
         *       "published": [],
         *       "history": [
         *         {
         *           "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *           "round_number": 7,
         *           "status": "completed",
         *           "loss": 3.21,
         *           "accuracy": 0.33,
         *           "completed_devices": 10,
         *           "failed_devices": 0,
         *           "aggregated_model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000202",
         *           "failure_reason": null,
         *           "metrics": {
         *             "accuracy": {
         *               "mean": 0.33,
         *               "median": 0.34,
         *               "worst_tenth": 0.21,
         *               "min": 0.19,
         *               "max": 0.41,
         *               "devices": 10
         *             }
         *           },
         *           "evaluation": {
         *             "devices": 10,
         *             "num_samples": 640,
         *             "metrics": {
         *               "accuracy": {
         *                 "mean": 0.33,
         *                 "median": 0.34,
         *                 "worst_tenth": 0.21,
         *                 "min": 0.19,
         *                 "max": 0.41,
         *                 "devices": 10
         *               }
         *             }
         *           },
         *           "started_at": "2026-03-02T09:05:00.000Z",
         *           "ended_at": "2026-03-02T09:15:00.000Z"
         *         }
         *       ]
         *     }
         */
        JobDetail: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            name: string | null;
            status: components["schemas"]["JobStatus"];
            model_id: string | null;
            model_name?: string | null;
            /** @enum {string} */
            publish: "last" | "every" | "best" | "none";
            model_version: number | null;
            latest_model_id: string | null;
            strategy: components["schemas"]["Strategy"];
            strategy_options: { [key: string]: unknown; };
            rounds: number;
            rounds_completed: number;
            rounds_failed_in_a_row: number;
            /** @description Minimum number of updates in a round, as requested; krum and multikrum raise it to 2f + 3, where f is strategy_options.byzantine */
            min_devices: number;
            /** @description Number of updates that a round aims for; with fedbuff, the number of devices that train at once */
            target_devices: number;
            over_selection: number;
            timeout_seconds: number;
            report_window_seconds: number | null;
            wait_for_devices_seconds: number;
            evaluation_seconds?: number;
            group_id: string | null;
            federation_id: string | null;
            hyperparameters: { [key: string]: unknown; };
            /** @description Only in lists: fields with more than about 8,000 characters, which are empty here. Get the record itself to see them */
            omitted?: string[];
            privacy: components["schemas"]["JobPrivacy"] | null;
            secure_aggregation: components["schemas"]["SecureAggregation"] | null;
            stop_when: components["schemas"]["StopCondition"] | null;
            /** @description The metric that stop_when and `publish: best` use: loss (the default), accuracy, one that devices report (f1), or one from the held-out evaluation (evaluation.f1) */
            metric: string;
            /**
             * @description Which values of metric are better: as requested, otherwise inferred from its name
             * @enum {string}
             */
            goal: "minimize" | "maximize";
            /** @description The model, if any, and the updates are raw little-endian float32 vectors */
            raw_vector?: boolean;
            ended_by: ("rounds_done" | "converged" | "budget_spent" | "rounds_failed" | "no_devices" | "cannot_start" | "stopped") | null;
            reason: string | null;
            waiting_until: string | null;
            waiting_for: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            started_at: string | null;
            ended_at: string | null;
            resumed_at: string | null;
            /**
             * @description State that the strategy keeps between rounds (moments, control variates). deleted: the job cannot be resumed, because its state's retention period has passed
             * @enum {string}
             */
            optimizer_state: "none" | "kept" | "deleted";
            /** @description The total cost of the private rounds started so far, however they ended; absent without noise */
            privacy_spent?: {
                epsilon: number;
                target_delta: number;
                accountant: components["schemas"]["Accountant"];
                rounds: number;
            };
            /** @description The versions that the job has added to its model, oldest first */
            published: components["schemas"]["PublishedVersion"][];
            /** @description The latest 100 rounds, oldest first */
            history: components["schemas"]["JobRound"][];
        };
        /**
         * @description How to extend a completed job
         * @example {
         *       "rounds": 10
         *     }
         */
        JobExtension: {
            /** @description The number of rounds to add to the completed ones */
            rounds: number;
        };
        /**
         * @description A page of training jobs
         * @example {
         *       "jobs": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000402",
         *           "org_id": "acme",
         *           "name": "next-word-march",
         *           "status": "running",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "publish": "last",
         *           "model_version": 1,
         *           "latest_model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000202",
         *           "strategy": "fedavg",
         *           "strategy_options": {},
         *           "rounds": 20,
         *           "rounds_completed": 6,
         *           "rounds_failed_in_a_row": 0,
         *           "min_devices": 10,
         *           "target_devices": 10,
         *           "over_selection": 1.3,
         *           "timeout_seconds": 600,
         *           "report_window_seconds": null,
         *           "wait_for_devices_seconds": 3600,
         *           "group_id": null,
         *           "federation_id": null,
         *           "hyperparameters": {
         *             "local_epochs": 1,
         *             "batch_size": 32,
         *             "learning_rate": 0.05
         *           },
         *           "privacy": null,
         *           "secure_aggregation": null,
         *           "stop_when": null,
         *           "metric": "loss",
         *           "goal": "minimize",
         *           "ended_by": null,
         *           "reason": null,
         *           "waiting_until": null,
         *           "waiting_for": null,
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "started_at": "2026-03-02T09:00:00.000Z",
         *           "ended_at": null,
         *           "resumed_at": null,
         *           "optimizer_state": "none",
         *           "model_name": "next-word"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        JobList: {
            jobs: components["schemas"]["Job"][];
            total: number;
            limit: number;
            offset: number;
        };
        /** @description The current clipping and noise */
        JobPrivacy: {
            noise_multiplier: number;
            /** @description The current value under adaptive clipping */
            clip_norm: number;
            adaptive_clip: boolean;
            /** @description The delta at which epsilon is accounted */
            target_delta?: number;
            /** @description The limit on the total cost of all rounds, if one was set */
            target_epsilon?: number;
        };
        /**
         * @description How to resume a stopped or failed job
         * @example {
         *       "rounds": 14
         *     }
         */
        JobResumption: {
            /** @description The number of rounds to add to the completed ones; default: the rounds left, or as many of them as target_epsilon still allows */
            rounds?: number;
        };
        /** @description A round in a job's history */
        JobRound: {
            /** Format: uuid */
            round_id: string;
            round_number: number;
            status: components["schemas"]["RoundStatus"];
            loss: number | null;
            accuracy: number | null;
            completed_devices: number;
            failed_devices: number;
            aggregated_model_id: string | null;
            failure_reason: string | null;
            started_at: string | null;
            ended_at: string | null;
            /** @description Metrics of the models that the devices trained, as reported with their updates */
            metrics?: { [key: string]: components["schemas"]["MetricSummary"]; };
            /** @description Metrics for the round's new model, from the next round's updates or the evaluation after the job's last round */
            evaluation?: components["schemas"]["Evaluation"];
        };
        /**
         * @description The state of a training job
         * @enum {string}
         */
        JobStatus: "pending" | "running" | "completed" | "failed" | "stopped";
        /**
         * @description The organization that joins
         * @example {
         *       "org_id": "globex"
         *     }
         */
        JoinRequest: {
            /** @description Id of an organization */
            org_id: string;
        };
        /** @description What stays, and why */
        KeptData: {
            what: string;
            why: string;
        };
        /**
         * @description An API key without its secret
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *       "name": "ml-team",
         *       "prefix": "sk_live_Xq3vR8",
         *       "scopes": [
         *         "devices:read",
         *         "models:write",
         *         "training:write"
         *       ],
         *       "org_id": "acme",
         *       "kind": "service",
         *       "device_id": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": "2026-05-31T09:00:00.000Z",
         *       "revoked_at": null,
         *       "last_used_at": "2026-03-02T09:12:30.000Z",
         *       "approved_by": null,
         *       "person_id": null,
         *       "created_by": null,
         *       "replaces": null,
         *       "replaced_by": null,
         *       "exceeds_lifetime": false
         *     }
         */
        Key: {
            /** Format: uuid */
            id: string;
            name: string;
            /** @description First characters of the key, to recognize it */
            prefix: string;
            scopes: string[];
            org_id: string | null;
            kind: components["schemas"]["KeyKind"];
            device_id: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            expires_at: string | null;
            revoked_at: string | null;
            last_used_at: string | null;
            approved_by: string | null;
            person_id: string | null;
            created_by: string | null;
            replaces: string | null;
            replaced_by: string | null;
            /** @description Whether it outlives the organization's key_lifetime_days; always false for keys of devices */
            exceeds_lifetime: boolean;
        };
        /**
         * @description Whether a program, a person, or a device uses it; a person's key ends with their account
         * @enum {string}
         */
        KeyKind: "service" | "personal" | "device";
        /**
         * @description API keys
         * @example {
         *       "keys": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701",
         *           "name": "ml-team",
         *           "prefix": "sk_live_Xq3vR8",
         *           "scopes": [
         *             "devices:read",
         *             "models:write",
         *             "training:write"
         *           ],
         *           "org_id": "acme",
         *           "kind": "service",
         *           "device_id": null,
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "expires_at": "2026-05-31T09:00:00.000Z",
         *           "revoked_at": null,
         *           "last_used_at": "2026-03-02T09:12:30.000Z",
         *           "approved_by": null,
         *           "person_id": null,
         *           "created_by": null,
         *           "replaces": null,
         *           "replaced_by": null,
         *           "exceeds_lifetime": false
         *         }
         *       ]
         *     }
         */
        KeyList: { keys: components["schemas"]["Key"][]; };
        /**
         * @description How a key is rotated
         * @example {
         *       "overlap_hours": 24
         *     }
         */
        KeyRotation: {
            /** @description How long the old key and the sign-ins it approved still work; default 24 */
            overlap_hours?: number;
        };
        /** @description Takes the update that is nearest to its neighbors (Blanchard et al. 2017). */
        KrumOptions: {
            /**
             * @description f, the number of Byzantine (arbitrarily wrong) updates to withstand; a round needs at least 2f + 3 updates.
             * @default 1
             */
            byzantine?: number;
            /**
             * @description Number of updates that are averaged.
             * @default 1
             */
            keep?: number;
        };
        /**
         * @description The tighter bound: Rényi differential privacy, or the privacy loss distribution
         * @enum {string}
         */
        LedgerAccountant: "rdp" | "pld";
        /** @description A policy in a list */
        ListedPolicy: {
            /** Format: uuid */
            model_id: string;
            org_id: string | null;
            enabled: boolean;
            canary_percentage: number;
            canary_group_id: string | null;
            observe_minutes: number;
            min_reports: number;
            max_accuracy_drop: number;
            max_loss_increase: number;
            metric_margins: { [key: string]: number; };
            confidence_level: number;
            increment_step: number;
            step_interval_minutes: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updated_at: string;
            warnings: string[];
            model_name: string | null;
        };
        /** @description A rollout with the name of its model */
        ListedRollout: {
            /** Format: uuid */
            rollout_id: string;
            /** Format: uuid */
            model_id: string;
            org_id: string | null;
            version: string;
            status: components["schemas"]["RolloutStatus"];
            percentage: number;
            initial_percentage: number;
            target_percentage: number;
            increment_step: number;
            step_interval_minutes: number;
            group_id: string | null;
            auto_rollback: boolean;
            reason: string | null;
            next_step_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            started_at: string | null;
            ended_at: string | null;
            ended_by: ("user" | "service") | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updated_at: string;
            model_name: string | null;
        };
        /** @description A session of a browser */
        ListedSession: {
            /** Format: uuid */
            id: string;
            key_id: string | null;
            person_id: string | null;
            email: string | null;
            /** @description Whether the sign-in used two factors */
            mfa: boolean;
            /** @description User agent reported by the browser */
            browser: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            last_used_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
            /** @description Whether this is the session of the request */
            current: boolean;
        };
        /** @description A version of a model in a list */
        ListedVersion: {
            version: number;
            version_label: string;
            format: components["schemas"]["VersionFormat"];
            model_size_bytes: number;
            model_hash: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            uploaded_at: string;
            /** @description What was recorded with the version, such as metrics and parameters, by key */
            metadata: { [key: string]: string | number | boolean; };
            /** @description Conversions to other formats; downloadVersion serves those that are ready */
            formats: components["schemas"]["ConvertedFile"][];
            trained_by: components["schemas"]["VersionOrigin"] | null;
            /** @description Aliases that currently point to this version */
            aliases: string[];
        };
        /**
         * @description Encoding of events
         * @enum {string}
         */
        LogFormat: "json" | "syslog" | "hec" | "otlp";
        /**
         * @description The address to send the browser to
         * @example {
         *       "redirect_to": "http://127.0.0.1:53682/callback?code=4fT9sZ2kQmC7&state=Yk3nQ0aVx8JrT5mW"
         *     }
         */
        LoginApproval: { redirect_to: string; };
        /**
         * @description The code of an approved sign-in
         * @example {
         *       "code": "4fT9sZ2kQmC7",
         *       "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
         *     }
         */
        LoginCode: {
            code: string;
            code_verifier: string;
        };
        /**
         * @description A command-line sign-in that awaits approval
         * @example {
         *       "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
         *       "redirect_uri": "http://127.0.0.1:53682/callback",
         *       "state": "Yk3nQ0aVx8JrT5mW"
         *     }
         */
        LoginRequest: {
            code_challenge: string;
            redirect_uri: string;
            state: string;
        };
        /**
         * @description The API key of a sign-in
         * @example {
         *       "api_key": "sk_live_Xq3vR8mTzL0pW5nYc2JfK7dHs9BgUa1E",
         *       "org_id": "acme",
         *       "expires_at": null
         *     }
         */
        LoginToken: {
            api_key: string;
            org_id: string | null;
            expires_at: string | null;
        };
        /** @description What the devices of a variant measured */
        MeasuredVariant: {
            name: string;
            /** @description Devices with a report */
            sample_size: number;
            /** @description Devices that last reported that they cannot run it */
            failed_devices: number;
            accuracy: number | null;
            loss: number | null;
            /** @description The share of devices; all of them sum to 1 */
            allocation: number;
            metrics: {
                [key: string]: {
                    devices: number;
                    observations: number;
                    /** @description Mean of the devices' means */
                    mean: number;
                    std_dev: number | null;
                };
            };
        };
        /** @description A member and what its devices contributed; private rounds are left out */
        Member: {
            org_id: string;
            role: components["schemas"]["MemberRole"];
            status: components["schemas"]["MemberStatus"];
            invited_at: string | null;
            joined_at: string | null;
            /** @description Completed rounds with an update from its devices, except private rounds */
            rounds_contributed: number;
            total_samples: number;
            avg_accuracy: number | null;
            avg_loss: number | null;
            last_contribution_at: string | null;
        };
        /**
         * @description A page of members
         * @example {
         *       "members": [
         *         {
         *           "org_id": "globex",
         *           "role": "member",
         *           "status": "active",
         *           "invited_at": "2026-03-02T09:00:00.000Z",
         *           "joined_at": "2026-03-02T09:05:00.000Z",
         *           "rounds_contributed": 3,
         *           "total_samples": 18240,
         *           "avg_accuracy": 0.33,
         *           "avg_loss": 3.21,
         *           "last_contribution_at": "2026-03-02T09:15:00.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        MemberList: {
            members: components["schemas"]["Member"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description owner: created the federation
         * @enum {string}
         */
        MemberRole: "owner" | "member";
        /**
         * @description invited: has not joined yet
         * @enum {string}
         */
        MemberStatus: "invited" | "active";
        /**
         * @description An organization's membership
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "org_id": "globex",
         *       "role": "member",
         *       "status": "active"
         *     }
         */
        Membership: {
            /** Format: uuid */
            federation_id: string;
            org_id: string;
            role: components["schemas"]["MemberRole"];
            status: components["schemas"]["MemberStatus"];
        };
        /** @description Distribution of a metric over the devices that reported it */
        MetricSummary: {
            /** @description Weighted by samples */
            mean: number;
            median: number | null;
            worst_tenth: number | null;
            min: number | null;
            max: number | null;
            devices: number;
        };
        /**
         * @description A model in the catalog
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "org_id": "acme",
         *       "name": "next-word",
         *       "framework": "pytorch",
         *       "framework_version": "2.6",
         *       "description": "Suggests the next word on the keyboard",
         *       "is_baseline": true,
         *       "round_id": null,
         *       "model_path": "sha256/9b/9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *       "model_size_bytes": 4812800,
         *       "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *       "accuracy": null,
         *       "loss": null,
         *       "created_at": "2026-03-02T09:00:00.000Z"
         *     }
         */
        Model: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            name: string | null;
            round_id: string | null;
            model_path: string | null;
            model_size_bytes: number | null;
            model_hash: string | null;
            framework: components["schemas"]["Framework"];
            framework_version: string;
            accuracy: number | null;
            loss: number | null;
            is_baseline: boolean;
            description: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        /**
         * @description Changes of a model
         * @example {
         *       "description": "Next word, for keyboards"
         *     }
         */
        ModelChanges: {
            /** @description Free text */
            description: string;
        };
        /**
         * @description A model with its versions
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "org_id": "acme",
         *       "name": "next-word",
         *       "framework": "pytorch",
         *       "framework_version": "2.6",
         *       "description": "Suggests the next word on the keyboard",
         *       "is_baseline": true,
         *       "round_id": null,
         *       "model_path": "sha256/9b/9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *       "model_size_bytes": 4812800,
         *       "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *       "accuracy": null,
         *       "loss": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "versions": [
         *         {
         *           "version": 2,
         *           "version_label": "2.0.0",
         *           "format": "pytorch",
         *           "model_size_bytes": 4812800,
         *           "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *           "uploaded_at": "2026-03-02T09:05:00.000Z",
         *           "metadata": {
         *             "accuracy": 0.91,
         *             "dataset": "2026-02"
         *           },
         *           "formats": [
         *             {
         *               "format": "onnx",
         *               "state": "ready",
         *               "reason": null,
         *               "model_size_bytes": 4801024,
         *               "model_hash": "sha256:5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99"
         *             },
         *             {
         *               "format": "tflite",
         *               "state": "pending",
         *               "reason": null,
         *               "model_size_bytes": null,
         *               "model_hash": null
         *             }
         *           ],
         *           "aliases": [
         *             "production"
         *           ],
         *           "trained_by": {
         *             "job_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000402",
         *             "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *             "round_number": 7,
         *             "metrics": {
         *               "loss": 3.42,
         *               "accuracy": 0.31
         *             },
         *             "receipt_path": "/api/v1/training/rounds/0d9f1c2e-5b7a-4c3d-8e6f-000000000401/receipt"
         *           }
         *         }
         *       ],
         *       "delivered_versions": [
         *         2
         *       ]
         *     }
         */
        ModelDetail: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            name: string | null;
            round_id: string | null;
            model_path: string | null;
            model_size_bytes: number | null;
            model_hash: string | null;
            framework: components["schemas"]["Framework"];
            framework_version: string;
            accuracy: number | null;
            loss: number | null;
            is_baseline: boolean;
            description: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            versions: components["schemas"]["ListedVersion"][];
            /** @description Numbers of the versions that rollouts, deployments, and experiments deliver to devices now */
            delivered_versions: number[];
        };
        /**
         * @description A page of models
         * @example {
         *       "models": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "org_id": "acme",
         *           "name": "next-word",
         *           "framework": "pytorch",
         *           "framework_version": "2.6",
         *           "description": "Suggests the next word on the keyboard",
         *           "is_baseline": true,
         *           "round_id": null,
         *           "model_path": "sha256/9b/9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *           "model_size_bytes": 4812800,
         *           "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *           "accuracy": null,
         *           "loss": null,
         *           "created_at": "2026-03-02T09:00:00.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 20,
         *       "offset": 0
         *     }
         */
        ModelList: {
            models: components["schemas"]["Model"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description A model to share
         * @example {
         *       "model_id": "next-word"
         *     }
         */
        ModelToShare: {
            /** @description Id or name of a model */
            model_id: string;
        };
        /**
         * @description A device's update
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000403",
         *       "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "device_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *       "model_path": "sha256/5f/5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99",
         *       "model_size_bytes": 4812800,
         *       "model_hash": "sha256:5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99",
         *       "num_samples": 512,
         *       "local_loss": 3.18,
         *       "local_accuracy": 0.34,
         *       "training_time_seconds": 41,
         *       "created_at": "2026-03-02T09:12:30.000Z"
         *     }
         */
        ModelUpdate: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            round_id: string;
            /** Format: uuid */
            device_id: string;
            model_path: string;
            model_size_bytes: number;
            model_hash: string;
            num_samples: number;
            local_loss: number | null;
            local_accuracy: number | null;
            training_time_seconds: number | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        /**
         * @description A page of a round's updates
         * @example {
         *       "updates": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000403",
         *           "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *           "device_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *           "model_path": "sha256/5f/5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99",
         *           "model_size_bytes": 4812800,
         *           "model_hash": "sha256:5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99",
         *           "num_samples": 512,
         *           "local_loss": 3.18,
         *           "local_accuracy": 0.34,
         *           "training_time_seconds": 41,
         *           "created_at": "2026-03-02T09:12:30.000Z",
         *           "device_identifier": "pixel-8-0042",
         *           "metrics": {
         *             "perplexity": 24.1
         *           },
         *           "evaluation": {
         *             "num_samples": 64,
         *             "metrics": {
         *               "loss": 3.22,
         *               "accuracy": 0.33
         *             }
         *           },
         *           "norm": 0.84,
         *           "cosine": 0.91,
         *           "non_finite": 0,
         *           "weight": 0.052,
         *           "staleness": null,
         *           "base_round_id": null
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        ModelUpdateList: {
            updates: components["schemas"]["ReviewedUpdate"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description An uploaded version of a model
         * @example {
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "version": 2,
         *       "version_label": "2.0.0",
         *       "format": "pytorch",
         *       "model_size_bytes": 4812800,
         *       "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *       "uploaded_at": "2026-03-02T09:05:00.000Z",
         *       "metadata": {
         *         "accuracy": 0.91,
         *         "dataset": "2026-02"
         *       },
         *       "model_path": "sha256/9b/9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *       "description": "Trained on three more months of text",
         *       "warnings": [],
         *       "formats": [
         *         {
         *           "format": "onnx",
         *           "state": "ready",
         *           "reason": null,
         *           "model_size_bytes": 4801024,
         *           "model_hash": "sha256:5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99"
         *         },
         *         {
         *           "format": "tflite",
         *           "state": "pending",
         *           "reason": null,
         *           "model_size_bytes": null,
         *           "model_hash": null
         *         }
         *       ]
         *     }
         */
        ModelVersion: {
            /** Format: uuid */
            model_id: string;
            version: number;
            version_label: string;
            format: components["schemas"]["VersionFormat"];
            model_path: string;
            model_size_bytes: number;
            model_hash: string;
            description: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            uploaded_at: string;
            /** @description What was recorded with the version, such as metrics and parameters, by key */
            metadata: { [key: string]: string | number | boolean; };
            warnings: string[];
            /** @description Conversions to other formats; downloadVersion serves those that are ready */
            formats: components["schemas"]["ConvertedFile"][];
        };
        /** @description Averages the updates that are nearest to their neighbors (Blanchard et al. 2017). */
        MultikrumOptions: {
            /**
             * @description f, the number of Byzantine (arbitrarily wrong) updates to withstand; a round needs at least 2f + 3 updates.
             * @default 1
             */
            byzantine?: number;
            /**
             * @description Number of updates that are averaged; 0: all but f.
             * @default 0
             */
            keep?: number;
        };
        /**
         * @description Groups to compare
         * @example {
         *       "variable": "local_accuracy",
         *       "group_by": "federation_member",
         *       "post_hoc": true
         *     }
         */
        NewAnova: {
            /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
            variable: string;
            /** @enum {string} */
            group_by?: "device_group" | "federation_member";
            /** @description Ids or names of device groups, or ids of member organizations; default: all of them */
            group_ids?: string[];
            /** @description Default: 0.95 */
            confidence_level?: number;
            /** @description Tukey's test of every pair, of at most 50 groups; default: true */
            post_hoc?: boolean;
            filters?: components["schemas"]["AnalyticsFilters"];
        };
        /**
         * @description Where to write a backup, and whether to verify it
         * @example {
         *       "target": "/mnt/backups/tributary",
         *       "verify": true
         *     }
         */
        NewBackup: {
            /** @description Absolute path of a folder on the service's machine, or s3://…; default SERVICE_BACKUP_URL */
            target?: string;
            /**
             * @description Verify it: hash all files, and of an embedded database start a copy and compare its rows
             * @default false
             */
            verify?: boolean;
        };
        /**
         * @description A benchmark result to share
         * @example {
         *       "svc_version": "1.1.0",
         *       "os": "linux",
         *       "arch": "arm64",
         *       "cpu_model": "Neoverse-N1",
         *       "cpu_cores": 4,
         *       "memory_gb": 16,
         *       "engine": "llama.cpp",
         *       "model_architecture": "llama",
         *       "model_parameters": 1235814432,
         *       "model_quantization": "q4_0",
         *       "model_megabytes": 738,
         *       "iterations": 20,
         *       "max_tokens": 128,
         *       "first_token_ms_p50": 182,
         *       "first_token_ms_p90": 201,
         *       "first_token_ms_p99": 240,
         *       "tokens_per_second_p50": 24.1,
         *       "tokens_per_second_p90": 22.8,
         *       "tokens_per_second_p99": 19.5,
         *       "total_ms_p50": 5490,
         *       "total_ms_p90": 5815,
         *       "total_ms_p99": 6804,
         *       "memory_megabytes": 1012
         *     }
         */
        NewBenchmark: {
            /** @description Version of svc that ran the benchmark */
            svc_version: string;
            /** @description Such as linux */
            os: string;
            /** @description Such as arm64 */
            arch: string;
            /** @description The name that the processor reports */
            cpu_model: string;
            cpu_cores: number;
            /** @description Memory of the machine */
            memory_gb: number;
            engine: components["schemas"]["Engine"];
            model_architecture: string | null;
            model_parameters: number | null;
            model_quantization: string | null;
            model_megabytes: number;
            iterations: number;
            max_tokens: number;
            first_token_ms_p50: number;
            first_token_ms_p90: number;
            first_token_ms_p99: number;
            tokens_per_second_p50: number;
            /** @description At least this fast in 90% of the runs */
            tokens_per_second_p90: number;
            tokens_per_second_p99: number;
            total_ms_p50: number;
            total_ms_p90: number;
            total_ms_p99: number;
            /** @description Memory of the loaded model */
            memory_megabytes: number;
        };
        /**
         * @description A privacy budget to set
         * @example {
         *       "total_epsilon_budget": 8,
         *       "total_delta_budget": 0.00001
         *     }
         */
        NewBudget: {
            /** @description Total epsilon that all rounds may spend */
            total_epsilon_budget: number;
            /**
             * @description The delta at which epsilon is accounted
             * @default 0.00001
             */
            total_delta_budget?: number;
        };
        /**
         * @description Two variables to test
         * @example {
         *       "variable_1": "platform",
         *       "variable_2": "status"
         *     }
         */
        NewChiSquare: {
            /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
            variable_1: string;
            /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
            variable_2: string;
            /** @description Default: 0.95 */
            confidence_level?: number;
            filters?: components["schemas"]["AnalyticsFilters"];
        };
        /**
         * @description A deployment to execute
         * @example {
         *       "model_name": "next-word",
         *       "model_version": "2.0.0",
         *       "group": "beta-testers",
         *       "rollout_percentage": 50,
         *       "strategy": "canary"
         *     }
         */
        NewDeployment: {
            /** @description Name or id of a model in the catalog, or name@version; a name that is not in it is accepted with a warning, and devices resolve it */
            model_name: string;
            /** @description A version of it, an alias, or latest */
            model_version: string;
            /** @description Ids of the target devices, besides those of the group; default without a group: all active devices */
            devices?: string[];
            /** @description Id or name of a device group */
            group?: string;
            /**
             * @description Only devices of this platform
             * @enum {string}
             */
            platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
            /** @description Percentage of targets to activate; default: 100 */
            rollout_percentage?: number;
            /**
             * @description Default: canary
             * @enum {string}
             */
            strategy?: "canary" | "immediate" | "blue_green";
            /** @description Default: 10080, a week */
            deadline_minutes?: number;
        };
        /**
         * @description A variable to describe
         * @example {
         *       "variable": "local_accuracy",
         *       "group_by": "federation_member",
         *       "include_percentiles": true
         *     }
         */
        NewDescription: {
            /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
            variable: string;
            /** @enum {string} */
            group_by?: "device_group" | "federation_member";
            /** @description Ids or names of device groups, or ids of member organizations; default: all of them */
            group_ids?: string[];
            /** @description Default: true */
            include_percentiles?: boolean;
            filters?: components["schemas"]["AnalyticsFilters"];
        };
        /**
         * @description A device to register
         * @example {
         *       "device_id": "pixel-8-0042",
         *       "platform": "android",
         *       "capabilities": {
         *         "memory_gb": 8,
         *         "cpu_cores": 9
         *       },
         *       "org_id": "acme"
         *     }
         */
        NewDevice: {
            /** @description Chosen by the user, unique in its organization */
            device_id: string;
            platform?: components["schemas"]["Platform"];
            /** @description A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0. At most 65536 characters of JSON */
            capabilities?: { [key: string]: unknown; };
            /** @description Id of an organization */
            org_id?: string;
            /** @description False: the device runs models but does not take part in rounds */
            trains?: boolean;
        };
        /**
         * @description A program that asks to sign in
         * @example {
         *       "client_name": "svc on build-server-7"
         *     }
         */
        NewDeviceLogin: {
            /** @description The program and its machine, shown to the approver */
            client_name: string;
        };
        /**
         * @description A device's evaluation, or why it cannot evaluate
         * @example {
         *       "num_samples": 64,
         *       "metrics": {
         *         "loss": 3.22,
         *         "accuracy": 0.33
         *       }
         *     }
         */
        NewEvaluation: {
            /** @description Samples that the model was evaluated on */
            num_samples?: number;
            /** @description A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0. At most 65536 characters of JSON */
            metrics?: { [key: string]: unknown; };
            /** @description Instead of metrics: the device cannot evaluate the model */
            failure_reason?: string;
        };
        /**
         * @description An experiment to create
         * @example {
         *       "name": "next-word-2",
         *       "variants": [
         *         {
         *           "name": "current",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "version": "1.0.0",
         *           "allocation": 0.5
         *         },
         *         {
         *           "name": "candidate",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "version": "2.0.0",
         *           "allocation": 0.5
         *         }
         *       ],
         *       "target_groups": [
         *         "0d9f1c2e-5b7a-4c3d-8e6f-000000000101"
         *       ],
         *       "primary_metric": "accuracy"
         *     }
         */
        NewExperiment: {
            /** @description Unique in the organization */
            name: string;
            /** @description All others are compared with the first */
            variants: components["schemas"]["NewVariant"][];
            /** @description Ids of device groups; all devices when empty */
            target_groups?: string[];
            /** @description The metric to compare; default: accuracy */
            primary_metric?: string;
            /** @description Between 0 and 1; default: 0.95 */
            confidence_level?: number;
        };
        /**
         * @description A federation to create
         * @example {
         *       "name": "keyboard-alliance",
         *       "org_id": "acme",
         *       "description": "Two keyboard makers train one next-word model"
         *     }
         */
        NewFederation: {
            /** @description Unique among the owner's federations */
            name: string;
            /** @description The owner */
            org_id: string;
            description?: string;
        };
        /**
         * @description A device group to create
         * @example {
         *       "org_id": "acme",
         *       "name": "large-phones",
         *       "filter": [
         *         {
         *           "field": "platform",
         *           "op": "eq",
         *           "value": "android"
         *         },
         *         {
         *           "field": "capabilities.memory_gb",
         *           "op": "gte",
         *           "value": 6
         *         }
         *       ]
         *     }
         */
        NewGroup: {
            /** @description Id of an organization */
            org_id: string;
            /** @description Unique in the organization */
            name: string;
            /** @description Free text */
            description?: string;
            /** @description A label of your own, without effect; default: static, or dynamic with a filter */
            group_type?: string;
            /** @description Labels to search by */
            tags?: string[];
            filter?: components["schemas"]["DeviceCondition"][] | null;
        };
        /**
         * @description A receiver of metrics, logs, or training runs
         * @example {
         *       "kind": "logs",
         *       "type": "webhook",
         *       "name": "Release channel",
         *       "endpoint": "https://hooks.acme.example/tributary",
         *       "topics": [
         *         "rollout",
         *         "audit"
         *       ]
         *     }
         */
        NewIntegration: {
            kind?: components["schemas"]["IntegrationKind"];
            type: components["schemas"]["IntegrationType"];
            /** @description Unique in the organization. Default: the type, with a number if it is taken */
            name?: string;
            /** @description Address of the receiver; optional for datadog */
            endpoint?: string;
            format?: components["schemas"]["LogFormat"];
            /** @description Topics of the event stream (default: all) and audit log entries that a log integration receives */
            topics?: components["schemas"]["IntegrationTopic"][];
            /** @description By type: username, password, bearer_token, and headers; datadog: api_key; splunk: token; webhook: secret; elasticsearch: api_key, index; statsd: prefix; mlflow: experiment. Stored encrypted */
            config?: { [key: string]: unknown; };
        };
        /**
         * @description A training job to start
         * @example {
         *       "model": "next-word",
         *       "name": "next-word-march",
         *       "rounds": 20,
         *       "min_devices": 10,
         *       "strategy": "fedavg",
         *       "hyperparameters": {
         *         "local_epochs": 1,
         *         "batch_size": 32,
         *         "learning_rate": 0.05
         *       }
         *     }
         */
        NewJob: {
            /** @description Id or name of a model with an uploaded version; my-model@production starts from that version */
            model: string;
            /** @description A label; the API identifies jobs by id only */
            name?: string;
            /** @description Only for keys that are not bound to an organization; default: the organization of the group or federation, or else of the device that owns the key, or else of the model */
            org_id?: string;
            strategy?: components["schemas"]["AcceptedStrategy"];
            strategy_options?: components["schemas"]["StrategyOptions"];
            /** @description Default: 10 */
            rounds?: number;
            /** @description Minimum number of updates in a round; default: 2. krum and multikrum raise it to 2f + 3, where f is strategy_options.byzantine */
            min_devices?: number;
            /** @description Number of updates that a round aims for; with fedbuff, the number of devices that train at once, and strategy_options.buffer updates close a round. Default: min_devices, or the number that the strategy needs if that is higher; with privacy, the lowest that works */
            target_devices?: number;
            /** @description Multiple of target_devices to select; the round closes with the first target_devices updates; default: 1 */
            over_selection?: number;
            /** @description Seconds after which a round ends, no matter how many updates have arrived; default: 300 */
            timeout_seconds?: number;
            /** @description How long to wait for stragglers once min_devices updates have arrived; in private rounds, from the start of the round. fedbuff and secure rounds ignore it. Default: SERVICE_STRAGGLER_GRACE_SECONDS where set, else 10% of timeout_seconds, but at least 5 and at most 60 s, or all of timeout_seconds in private rounds */
            report_window_seconds?: number;
            /** @description How long a round waits for min_devices active devices; default: 3600 */
            wait_for_devices_seconds?: number;
            /** @description Id or name of a device group; only its members take part */
            group?: string;
            /** @description The same as group */
            group_id?: string;
            /** @description Id of a federation; devices of all active members take part */
            federation?: string;
            /** @description The same as federation */
            federation_id?: string;
            /** @description Passed to the devices, such as local_epochs, batch_size, learning_rate. At most 65536 characters of JSON */
            hyperparameters?: { [key: string]: unknown; };
            privacy?: components["schemas"]["NewJobPrivacy"];
            secure_aggregation?: components["schemas"]["SecureAggregation"];
            stop_when?: components["schemas"]["NewStopCondition"];
            /** @description The metric that stop_when and `publish: best` use: loss (the default), accuracy, one that devices report (f1), or one from the held-out evaluation (evaluation.f1) */
            metric?: string;
            /**
             * @description Which values of metric are better. Default: inferred from its name; losses, errors, failures, costs, times, and memory are minimized, all others maximized
             * @enum {string}
             */
            goal?: "minimize" | "maximize";
            /**
             * @description Which results become versions of the model: the last (the default), the result of every round, each new best by metric, or none
             * @enum {string}
             */
            publish?: "last" | "every" | "best" | "none";
            /** @description The model, if any, and the updates are raw little-endian float32 vectors */
            raw_vector?: boolean;
            /** @description How long devices that offered it have to evaluate the last model; default: 10% of timeout_seconds, but at least 5 and at most 60 s */
            evaluation_seconds?: number;
        };
        /** @description Clipping and noise of every round */
        NewJobPrivacy: {
            noise_multiplier?: number;
            /** @description Over all rounds of this job */
            target_epsilon?: number;
            /** @description The delta at which epsilon is reported; default: 1e-5 */
            target_delta?: number;
            clip_norm: number;
            adaptive_clip?: boolean;
        };
        /**
         * @description An API key to create
         * @example {
         *       "name": "ml-team",
         *       "scopes": [
         *         "devices:read",
         *         "models:write",
         *         "training:write"
         *       ],
         *       "org_id": "acme",
         *       "expires_in_days": 90
         *     }
         */
        NewKey: {
            /** @description What the key is for */
            name: string;
            /** @description Default: all scopes except admin */
            scopes?: components["schemas"]["Scope"][];
            /** @description Only for keys that are not bound to an organization */
            org_id?: string;
            /** @description Default: never; at most the organization's key_lifetime_days, and no later than the key of the request */
            expires_in_days?: number;
        };
        /**
         * @description A model to create
         * @example {
         *       "name": "next-word",
         *       "framework": "pytorch",
         *       "framework_version": "2.6",
         *       "description": "Suggests the next word on the keyboard",
         *       "is_baseline": true
         *     }
         */
        NewModel: {
            /** @description Unique in the organization, usable as model_id */
            name?: string;
            framework?: components["schemas"]["Framework"];
            /** @description Such as 2.4.1 */
            framework_version?: string;
            /** @description Free text */
            description?: string;
            /** @description Whether other models are compared with it; default false */
            is_baseline?: boolean;
        };
        /**
         * @description A device's update to submit
         * @example {
         *       "file": "<the bytes of update.pt>",
         *       "num_samples": 512,
         *       "local_loss": 3.18,
         *       "local_accuracy": 0.34,
         *       "metrics": {
         *         "perplexity": 24.1
         *       },
         *       "evaluation": {
         *         "num_samples": 64,
         *         "metrics": {
         *           "loss": 3.22,
         *           "accuracy": 0.33
         *         }
         *       }
         *     }
         */
        NewModelUpdate: {
            /** Format: binary */
            file: Blob;
            /**
             * Format: binary
             * @description SCAFFOLD only, and required there: the change of the device's control variate, with the model's layout
             */
            control?: Blob;
            /** @description Samples that the device trained on: the weight of its update in averages weighted by samples. Private rounds weight all devices equally; secure rounds cap it at max_weight */
            num_samples: number;
            /** @description A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0 */
            local_loss?: number;
            local_accuracy?: number;
            /** @description Above 2147483647 it becomes null, with a warning */
            training_time_seconds?: number;
            /** @description JSON, such as {"f1": 0.8}: metrics of the trained model besides loss and accuracy. At most 32; names: at most 64 letters, digits, and _ . : @ / + -, a letter first. A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0 */
            metrics?: { [key: string]: number; };
            /** @description JSON: metrics of the global model on held-out data */
            evaluation?: components["schemas"]["EvaluationReport"];
        };
        /**
         * @description What devices measured: one observation, or many
         * @example {
         *       "observations": [
         *         {
         *           "device_id": "pixel-8-0042",
         *           "metrics": {
         *             "accuracy": 0.34
         *           }
         *         }
         *       ]
         *     }
         */
        NewObservations: {
            device_id?: string;
            /** @description What the device measured, such as accuracy and loss; null values are ignored. A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0 */
            metrics?: { [key: string]: number | null; };
            /** @description Several observations, instead of device_id and metrics */
            observations?: {
                device_id: string;
                /** @description What the device measured, such as accuracy and loss; null values are ignored. A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0 */
                metrics: { [key: string]: number | null; };
            }[];
        };
        /**
         * @description An organization to create
         * @example {
         *       "name": "acme",
         *       "compliance": "gdpr",
         *       "region": "eu"
         *     }
         */
        NewOrg: {
            /** @description Its id is derived from it */
            name: string;
            compliance?: components["schemas"]["Compliance"];
            region?: components["schemas"]["Region"];
        };
        /**
         * @description A pairing code to create
         * @example {
         *       "model_name": "next-word",
         *       "model_version": "latest",
         *       "platform": "android",
         *       "org_id": "acme"
         *     }
         */
        NewPairing: {
            /** @description The model that the device gets when it is paired */
            model_name?: string;
            /** @description Or an alias; default: latest */
            model_version?: string;
            /** @description Only a device of this platform may claim the code */
            platform?: components["schemas"]["Platform"];
            /** @description The organization of the device; default: that of the key */
            org_id?: string;
        };
        /**
         * @description A passkey to add
         * @example {
         *       "name": "Ada's laptop",
         *       "credential": {
         *         "id": "mT5kZ2QmC7fB4Vt0cK8x1g",
         *         "rawId": "mT5kZ2QmC7fB4Vt0cK8x1g",
         *         "type": "public-key",
         *         "response": {
         *           "clientDataJSON": "eyJ0eXBlIjoi…"
         *         },
         *         "clientExtensionResults": {}
         *       }
         *     }
         */
        NewPasskey: {
            /** @description A name to recognize it by */
            name: string;
            /** @description The browser's PublicKeyCredential.toJSON(). At most 65536 characters of JSON */
            credential: { [key: string]: unknown; };
        };
        /**
         * @description A new password
         * @example {
         *       "old_password": "correct horse battery staple",
         *       "new_password": "four unrelated words here"
         *     }
         */
        NewPassword: {
            old_password: string;
            /** @description At least 12 characters */
            new_password: string;
            /** @description Also revoke your personal keys; default false */
            revoke_keys?: boolean;
        };
        /**
         * @description A policy to set
         * @example {
         *       "enabled": true,
         *       "canary_percentage": 10,
         *       "observe_minutes": 60,
         *       "min_reports": 20,
         *       "max_accuracy_drop": 0.02,
         *       "max_loss_increase": 0.05,
         *       "metric_margins": {
         *         "f1": 0.02
         *       },
         *       "confidence_level": 0.95,
         *       "increment_step": 10,
         *       "step_interval_minutes": 60
         *     }
         */
        NewPolicy: {
            /** @description Default: false: nothing is rolled out automatically */
            enabled?: boolean;
            /** @description Must be below 100 without canary_group. Default: 10 */
            canary_percentage?: number;
            /** @description Id or name of a device group; default: the fleet */
            canary_group?: string;
            /** @description Default: 60; without a conclusion by then the canary is rolled back */
            observe_minutes?: number;
            /** @description Devices on each side that must have reported before an early conclusion; default: 20 */
            min_reports?: number;
            /** @description How much lower the mean accuracy may be; default: 0.02 */
            max_accuracy_drop?: number;
            /** @description How much higher the mean loss may be, as a share of the current version's; default: 0.05 */
            max_loss_increase?: number;
            /** @description Other metrics that devices report with a version, by name, and how much worse the mean may be: in the metric's units if higher is better, as a share of the current version's mean if lower is better (losses, errors, times) */
            metric_margins?: { [key: string]: number; };
            /** @description Default: 0.95 */
            confidence_level?: number;
            /** @description Increment step of the promotion, as in rollouts; default 10 */
            increment_step?: number;
            /** @description Default: 60 */
            step_interval_minutes?: number;
        };
        /**
         * @description A device's report on an assignment
         * @example {
         *       "state": "active",
         *       "version": "2.0.0",
         *       "metrics": {
         *         "accuracy": 0.34,
         *         "loss": 3.1
         *       }
         *     }
         */
        NewReport: {
            state: components["schemas"]["ReportState"];
            version: string;
            reason?: string;
            /** @description What the device measured with this version, such as accuracy and loss. A number beyond ±3.4e38 is left out (a single field becomes null), with a warning; magnitudes below 1e-38 become 0. A metric whose name does not have 1 to 100 characters, or contains a line break, is left out, with a warning */
            metrics?: { [key: string]: number | null; };
        };
        /**
         * @description The role of a member
         * @example {
         *       "role": "viewer"
         *     }
         */
        NewRole: { role: components["schemas"]["Role"]; };
        /**
         * @description A rollout to create
         * @example {
         *       "version": "2.0.0",
         *       "rollout_percentage": 10,
         *       "increment_step": 30,
         *       "auto_rollback": true
         *     }
         */
        NewRollout: {
            /** @description A version of the model, latest, or an alias; one that has not been uploaded yet is accepted with a warning, except where the start needs approval */
            version: string;
            /** @description The first step */
            rollout_percentage: number;
            /** @description Default: 100 */
            target_percentage?: number;
            /** @description Default: 10 */
            increment_step?: number;
            /** @description Default: true */
            start_immediately?: boolean;
            /** @description Default: 60; may be a fraction, down to one second */
            step_interval_minutes?: number;
            /** @description Only the devices of this group (id or name) */
            group?: string;
            /** @description Whether too many failures roll it back instead of pausing it; default: false. Always true if the organization has automatic_rollback */
            auto_rollback?: boolean;
        };
        /**
         * @description A training round to start
         * @example {
         *       "target_devices": 20,
         *       "min_devices": 10,
         *       "timeout_seconds": 600,
         *       "global_model_id": "next-word",
         *       "strategy": "fedprox",
         *       "strategy_options": {
         *         "mu": 0.01
         *       },
         *       "hyperparameters": {
         *         "local_epochs": 1,
         *         "batch_size": 32,
         *         "learning_rate": 0.05
         *       }
         *     }
         */
        NewRound: {
            /** @description Devices to select */
            target_devices: number;
            /** @description Minimum number of updates; with fewer, the round fails. krum and multikrum raise it to 2f + 3, where f is strategy_options.byzantine */
            min_devices: number;
            /** @description Default: 300 */
            timeout_seconds?: number;
            /** @description Id or name, or name@version. Default: the organization's latest aggregated model, or in a federation, the latest from its rounds there */
            global_model_id?: string;
            /** @description Only for keys that are not bound to an organization; default: the organization of the group or federation, or else of the device that owns the key, or else of the model */
            org_id?: string;
            /** @description Passed to the devices in the plan, such as local_epochs, batch_size, learning_rate. At most 65536 characters of JSON */
            hyperparameters?: { [key: string]: unknown; };
            strategy?: components["schemas"]["AcceptedStrategy"];
            strategy_options?: components["schemas"]["StrategyOptions"];
            /** @description Id or name of a device group; only its members take part */
            group?: string;
            /** @description The same as group */
            group_id?: string;
            /** @description Id of a federation; devices of all active members take part */
            federation?: string;
            /** @description The same as federation */
            federation_id?: string;
            privacy?: components["schemas"]["NewRoundPrivacy"];
            secure_aggregation?: components["schemas"]["SecureAggregation"];
            /** @description The model, if any, and the updates are raw little-endian float32 vectors */
            raw_vector?: boolean;
        };
        /** @description Every update is clipped to clip_norm, and their sum gets Gaussian noise */
        NewRoundPrivacy: {
            noise_multiplier: number;
            clip_norm: number;
            adaptive_clip?: boolean;
            /** @description The delta at which epsilon is reported; default: 1e-5 */
            target_delta?: number;
        };
        /**
         * @description A sign-in policy to change
         * @example {
         *       "require_mfa": "admins",
         *       "session_hours": 12
         *     }
         */
        NewSignInPolicy: {
            /**
             * @description Who must use two-factor sign-in
             * @enum {string}
             */
            require_mfa?: "off" | "admins" | "all";
            /** @description Maximum length of a session */
            session_hours?: number;
            reauthenticate_minutes?: number | null;
            /** @description Only for keys that are not bound to an organization */
            org_id?: string;
        };
        /** @description When to stop before all rounds are completed */
        NewStopCondition: {
            /** @description Stop when the best value of the last `patience` rounds is better than the best before them by less than this amount */
            improvement_below?: number;
            /** @description The same, for jobs that optimize the loss */
            loss_improvement_below?: number;
            patience: number;
        };
        /**
         * @description Two groups to compare
         * @example {
         *       "variable": "local_accuracy",
         *       "group_a": "acme",
         *       "group_b": "globex",
         *       "confidence_level": 0.95
         *     }
         */
        NewTTest: {
            /** @description A key of heartbeat metrics or capabilities (`battery_level`, `metrics.battery_level`, `capabilities.memory_gb`), of updates (`local_loss`, `local_accuracy`, `num_samples`, `training_time_seconds`), or `platform`, `status`, `federation_member` */
            variable: string;
            group_a: string;
            group_b: string;
            /**
             * @description When absent: members if both groups are ids of members, else device groups
             * @enum {string}
             */
            group_by?: "device_group" | "federation_member";
            /** @description Default: 0.95 */
            confidence_level?: number;
            filters?: components["schemas"]["AnalyticsFilters"];
        };
        /**
         * @description A person to invite
         * @example {
         *       "email": "bob@acme.example",
         *       "role": "member",
         *       "org_id": "acme"
         *     }
         */
        NewTeamMember: {
            email: components["schemas"]["Email"];
            /** @description Default: member */
            role?: components["schemas"]["Role"];
            /** @description Only for keys that are not bound to an organization */
            org_id?: string;
        };
        /** @description A version that some devices of an experiment get */
        NewVariant: {
            /** @description Unique in the experiment */
            name: string;
            /** @description Id or name of a model, or name@version */
            model_id: string;
            /** @description The share of devices; all of them sum to 1 */
            allocation: number;
            /** @description A version of the model, or an alias. Default: the current highest version; for a model without versions, the first one that is uploaded */
            version?: string;
        };
        /**
         * @description A version to upload: a file, or a finished upload
         * @example {
         *       "file": "<the bytes of next-word.pt>",
         *       "format": "pytorch",
         *       "version_label": "2.0.0",
         *       "formats": "onnx,tflite",
         *       "metadata": {
         *         "accuracy": 0.91,
         *         "dataset": "2026-02"
         *       }
         *     }
         */
        NewVersion: {
            /** Format: binary */
            file?: Blob;
            format?: components["schemas"]["VersionFormat"];
            /** @description Free text */
            description?: string;
            /** @description Semantic version; default n.0.0, or the next free major if that is taken */
            version_label?: string;
            /** @description Formats to convert it to, separated by commas: onnx, tflite, coreml */
            formats?: string;
            /** @description JSON, such as {"accuracy": 0.91}: what to record with the version; at most 64 entries and 8192 characters of JSON; keys of 1 to 64 characters on one line; values are text of at most 500 characters, finite numbers, or true or false */
            metadata?: { [key: string]: string | number | boolean; };
            /** @description sha256:<hex> of a finished upload; instead of file */
            upload?: string;
            /** @description Only with upload: its Upload-Length */
            upload_size?: number;
            /** @description Only with upload: the name of the file */
            file_name?: string;
        };
        /**
         * @description The lowest noise multiplier for an epsilon
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "noise_multiplier": 0.4646,
         *       "target_epsilon": 8,
         *       "target_delta": 0.00001,
         *       "sample_rate": 0.01,
         *       "num_steps": 100,
         *       "current_epsilon": 0.1426
         *     }
         */
        NoiseForEpsilon: {
            /** Format: uuid */
            federation_id: string;
            noise_multiplier: number | null;
            target_epsilon: number;
            target_delta: number;
            sample_rate: number;
            num_steps: number;
            current_epsilon: number;
        };
        /**
         * @description The key, the code of a link, or the email address and password to sign in with
         * @example {
         *       "api_key": "sk_live_…"
         *     }
         */
        OpenSession: {
            /** @description Not needed under open enrollment */
            api_key?: string;
            /** @description Code of a link from POST /session/links; instead of a key */
            code?: string;
            /** @description Email address; together with the password */
            email?: string;
            /** @description Of that person */
            password?: string;
            /** @description Required when the email address has accounts with this password in several organizations */
            org_id?: string;
        };
        /**
         * @description An organization
         * @example {
         *       "id": "acme",
         *       "name": "acme",
         *       "compliance": "gdpr",
         *       "region": "eu",
         *       "created_at": "2026-03-02T09:00:00.000Z"
         *     }
         */
        Org: {
            id: string;
            name: string;
            compliance: components["schemas"]["Compliance"] | null;
            region: components["schemas"]["Region"];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        /**
         * @description The settings of an organization
         * @example {
         *       "org_id": "acme",
         *       "compliance": "gdpr",
         *       "require_mfa": "admins",
         *       "session_hours": 24,
         *       "reauthenticate_minutes": null,
         *       "audit_retention_days": 1825,
         *       "key_lifetime_days": null,
         *       "update_retention_days": 7,
         *       "min_group_size": 10,
         *       "automatic_rollback": true,
         *       "require_approval": true,
         *       "violations": [
         *         {
         *           "setting": "key_lifetime_days",
         *           "value": null,
         *           "preset": 365
         *         }
         *       ],
         *       "warnings": [],
         *       "approval_id": null
         *     }
         */
        OrgSettings: {
            org_id: string;
            compliance: components["schemas"]["Compliance"] | null;
            /**
             * @description Who must use two-factor sign-in
             * @enum {string}
             */
            require_mfa: "off" | "admins" | "all";
            /** @description Maximum length of a session */
            session_hours: number;
            reauthenticate_minutes: number | null;
            audit_retention_days: number | null;
            key_lifetime_days: number | null;
            update_retention_days: number | null;
            min_group_size: number | null;
            /** @description Rollouts created while this is on are rolled back automatically if their health check fails */
            automatic_rollback: boolean;
            /** @description A second admin must approve moving an alias, and deliveries that name neither devices nor a group or reach more than half of the devices */
            require_approval: boolean;
            violations: components["schemas"]["SettingViolation"][];
            /** @description Problems that keep a setting from taking effect */
            warnings: string[];
            approval_id: string | null;
        };
        /**
         * @description A pairing without its code
         * @example {
         *       "pairing_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000304",
         *       "org_id": "acme",
         *       "status": "waiting",
         *       "reason": null,
         *       "model_name": "next-word",
         *       "model_version": "2.0.0",
         *       "device_id": null,
         *       "platform": "android",
         *       "device_state": null,
         *       "deployment_id": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": "2026-03-02T09:05:00.000Z"
         *     }
         */
        Pairing: {
            /** Format: uuid */
            pairing_id: string;
            org_id: string | null;
            /** @enum {string} */
            status: "waiting" | "paired" | "deploying" | "active" | "expired" | "failed";
            reason: string | null;
            model_name: string | null;
            model_version: string | null;
            device_id: string | null;
            platform: components["schemas"]["Platform"] | null;
            device_state: ("downloading" | "verifying" | "ready" | "active" | "failed") | null;
            deployment_id: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
        };
        /**
         * @description A device that claims a pairing code
         * @example {
         *       "code": "WHYS-F5TP",
         *       "device_id": "pixel-8-0042",
         *       "platform": "android"
         *     }
         */
        PairingClaim: {
            code: string;
            /** @description May be omitted with the device's own key */
            device_id?: string;
            platform?: components["schemas"]["Platform"];
            /** @description In the device's capabilities */
            device_name?: string;
        };
        /** @description A device of a round */
        Participant: {
            /** Format: uuid */
            device_id: string;
            /** @description The device's user-chosen id */
            device_identifier: string;
            org_id: string | null;
            state: components["schemas"]["ParticipantState"];
            /**
             * @description How the device was selected
             * @enum {string}
             */
            chosen: "drawn" | "starter" | "joined";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            selected_at: string;
            acknowledged_at: string | null;
            model_fetched_at: string | null;
            reported_at: string | null;
            reason: string | null;
        };
        /**
         * @description A page of a round's devices
         * @example {
         *       "participants": [
         *         {
         *           "device_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *           "device_identifier": "pixel-8-0042",
         *           "org_id": "acme",
         *           "state": "delivered",
         *           "chosen": "drawn",
         *           "selected_at": "2026-03-02T09:05:00.000Z",
         *           "acknowledged_at": "2026-03-02T09:05:00.000Z",
         *           "model_fetched_at": "2026-03-02T09:05:00.000Z",
         *           "reported_at": "2026-03-02T09:12:30.000Z",
         *           "reason": null
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        ParticipantList: {
            participants: components["schemas"]["Participant"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description absent: it did not fetch the plan in time, or stopped sending heartbeats while it trained; another may replace it, but its update is still accepted. failed also covers devices that were not needed, as their reason says
         * @enum {string}
         */
        ParticipantState: "selected" | "delivered" | "failed" | "absent";
        /**
         * @description Whether a device was selected, and why
         * @example {
         *       "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "device_id": "pixel-8-0042",
         *       "selected": true,
         *       "state": "delivered",
         *       "reason": "Selected: drawn at random among the active devices when the round started."
         *     }
         */
        Participation: {
            /** Format: uuid */
            round_id: string;
            device_id: string;
            selected: boolean;
            state: components["schemas"]["ParticipantState"] | null;
            reason: string;
        };
        /**
         * @description A passkey of the signed-in person
         * @example {
         *       "id": "mT5kZ2QmC7fB4Vt0cK8x1g",
         *       "name": "Ada's laptop",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "last_used_at": "2026-03-02T09:12:30.000Z"
         *     }
         */
        Passkey: {
            /** @description The credential's id, base64url */
            id: string;
            /** @description A name to recognize it by */
            name: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            last_used_at: string | null;
        };
        /**
         * @description Passkeys, oldest first
         * @example {
         *       "passkeys": [
         *         {
         *           "id": "mT5kZ2QmC7fB4Vt0cK8x1g",
         *           "name": "Ada's laptop",
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "last_used_at": "2026-03-02T09:12:30.000Z"
         *         }
         *       ]
         *     }
         */
        PasskeyList: { passkeys: components["schemas"]["Passkey"][]; };
        /**
         * @description The name of a passkey
         * @example {
         *       "name": "Ada's laptop"
         *     }
         */
        PasskeyName: {
            /** @description A name to recognize it by */
            name: string;
        };
        /**
         * @description WebAuthn options for the browser
         * @example {
         *       "public_key": {
         *         "challenge": "Yk3nQ0aVx8JrT5mWZ2mB4Vt0cK8x1yq5o3n7p9rUeWd",
         *         "rpId": "fleet.acme.example"
         *       }
         *     }
         */
        PasskeyOptions: { public_key: { [key: string]: unknown; }; };
        /**
         * @description A passkey to sign in with
         * @example {
         *       "credential": {
         *         "id": "mT5kZ2QmC7fB4Vt0cK8x1g",
         *         "rawId": "mT5kZ2QmC7fB4Vt0cK8x1g",
         *         "type": "public-key",
         *         "response": {
         *           "clientDataJSON": "eyJ0eXBlIjoi…"
         *         },
         *         "clientExtensionResults": {}
         *       }
         *     }
         */
        PasskeySignIn: {
            /** @description The browser's PublicKeyCredential.toJSON(). At most 65536 characters of JSON */
            credential: { [key: string]: unknown; };
        };
        /**
         * @description What a device needs to take part in a round
         * @example {
         *       "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "round_number": 7,
         *       "strategy": "fedprox",
         *       "hyperparameters": {
         *         "local_epochs": 1,
         *         "batch_size": 32,
         *         "learning_rate": 0.05,
         *         "mu": 0.01
         *       },
         *       "timeout_at": "2026-03-02T09:15:00.000Z",
         *       "strategy_options": {
         *         "mu": 0.01
         *       },
         *       "model": {
         *         "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *         "version": 2,
         *         "format": "pytorch",
         *         "model_size_bytes": 4812800,
         *         "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de"
         *       }
         *     }
         */
        Plan: {
            /** Format: uuid */
            round_id: string;
            round_number: number;
            strategy: components["schemas"]["Strategy"];
            hyperparameters: { [key: string]: unknown; };
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            timeout_at: string;
            strategy_options?: { [key: string]: unknown; };
            /** Format: uuid */
            job_id?: string;
            /** @description How many rounds the job had completed when this one began */
            rounds_completed?: number;
            /** @description Updates that arrive late count for a later round */
            asynchronous?: boolean;
            control?: {
                control_size_bytes: number;
                control_hash: string;
            } | null;
            secure_aggregation?: components["schemas"]["SecureSettings"];
            /** @description The model, if any, and the updates are raw little-endian float32 vectors */
            raw_vector?: boolean;
            privacy?: components["schemas"]["PlanPrivacy"];
            /** @description The norm that updates are clipped to before they are summed */
            clip_norm?: number;
            model: {
                /** Format: uuid */
                model_id: string;
                version: number;
                format: string;
                model_size_bytes: number;
                model_hash: string;
            } | null;
        };
        /** @description How a device clips its update */
        PlanPrivacy: {
            noise_multiplier: number;
            clip_norm: number;
            denominator: number;
            sample_rate: number;
            /**
             * @description Every eligible device is drawn independently with the same probability
             * @enum {string}
             */
            sampling?: "poisson";
            /** @description Eligible devices N; sample_rate is min(1, target_devices / N), both fixed before the draw */
            population?: number;
            /**
             * @description Adjacency that epsilon is defined for: a device takes part, or the same device sends nothing; N does not change
             * @enum {string}
             */
            adjacency?: "zero-out";
        };
        /**
         * @description A device's operating system or runtime
         * @enum {string}
         */
        Platform: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
        /** @description How many devices of a platform there are */
        PlatformCount: {
            /** @enum {string} */
            platform: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
            total: number;
            active: number;
        };
        /**
         * @description Rules for rolling out the result of a round
         * @example {
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "org_id": "acme",
         *       "enabled": true,
         *       "canary_percentage": 10,
         *       "observe_minutes": 60,
         *       "min_reports": 20,
         *       "max_accuracy_drop": 0.02,
         *       "max_loss_increase": 0.05,
         *       "metric_margins": {
         *         "f1": 0.02
         *       },
         *       "confidence_level": 0.95,
         *       "increment_step": 10,
         *       "step_interval_minutes": 60,
         *       "canary_group_id": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "updated_at": "2026-03-02T09:00:00.000Z",
         *       "warnings": []
         *     }
         */
        Policy: {
            /** Format: uuid */
            model_id: string;
            org_id: string | null;
            enabled: boolean;
            canary_percentage: number;
            canary_group_id: string | null;
            observe_minutes: number;
            min_reports: number;
            max_accuracy_drop: number;
            max_loss_increase: number;
            metric_margins: { [key: string]: number; };
            confidence_level: number;
            increment_step: number;
            step_interval_minutes: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updated_at: string;
            warnings: string[];
        };
        /** @description The canary compared with the current version */
        PolicyComparison: {
            /** @description accuracy, loss, or one of metric_margins */
            metric: string;
            canary: components["schemas"]["PolicySample"];
            current: components["schemas"]["PolicySample"];
            interval: {
                lower: number;
                upper: number;
            } | null;
            margin: number;
            /** @enum {string} */
            finding: "no_worse" | "worse" | "unclear";
        };
        /**
         * @description The policies of all models
         * @example {
         *       "policies": [
         *         {
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "org_id": "acme",
         *           "enabled": true,
         *           "canary_percentage": 10,
         *           "observe_minutes": 60,
         *           "min_reports": 20,
         *           "max_accuracy_drop": 0.02,
         *           "max_loss_increase": 0.05,
         *           "metric_margins": {
         *             "f1": 0.02
         *           },
         *           "confidence_level": 0.95,
         *           "increment_step": 10,
         *           "step_interval_minutes": 60,
         *           "canary_group_id": null,
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "updated_at": "2026-03-02T09:00:00.000Z",
         *           "warnings": [],
         *           "model_name": "next-word"
         *         }
         *       ]
         *     }
         */
        PolicyList: { policies: components["schemas"]["ListedPolicy"][]; };
        /** @description What devices with one version measured */
        PolicySample: {
            devices: number;
            mean: number | null;
        };
        /**
         * @description The targets that a deployment would have
         * @example {
         *       "ok": true,
         *       "target_count": 2,
         *       "resolved_targets": [
         *         "pixel-8-0042",
         *         "pixel-8-0043"
         *       ],
         *       "warnings": []
         *     }
         */
        PreparedDeployment: {
            /** @description At least one target was resolved */
            ok: boolean;
            target_count: number;
            /** @description Empty for keys without devices:read */
            resolved_targets: string[];
            warnings: string[];
        };
        /**
         * @description A privacy budget, and how much of it is spent
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "total_epsilon_budget": 8,
         *       "total_delta_budget": 0.00001,
         *       "current_epsilon_spent": 0.1426,
         *       "epsilon_remaining": 7.8574,
         *       "is_exhausted": false,
         *       "rounds_tracked": 1,
         *       "is_set": true,
         *       "epsilon_committed": 0.1426,
         *       "accountant": "pld"
         *     }
         */
        PrivacyBudget: {
            /** Format: uuid */
            federation_id: string;
            /** @description 0 until a budget is set */
            total_epsilon_budget: number;
            total_delta_budget: number;
            current_epsilon_spent: number;
            epsilon_remaining: number;
            is_exhausted: boolean;
            rounds_tracked: number;
            /** @description Whether the owner has set a budget; private rounds need one */
            is_set: boolean;
            /** @description Spent so far, including what rounds in progress have reserved */
            epsilon_committed: number;
            accountant: components["schemas"]["LedgerAccountant"];
        };
        /**
         * @description What a private round would cost
         * @example {
         *       "current_epsilon": 0.1426,
         *       "projected_epsilon": 0.1748,
         *       "round_epsilon_cost": 0.0322,
         *       "would_exceed_budget": false,
         *       "budget_epsilon": 8,
         *       "target_delta": 0.00001,
         *       "accountant": "pld",
         *       "projected_epsilon_rdp": 0.8165,
         *       "projected_epsilon_pld": 0.1748
         *     }
         */
        PrivacyEstimate: {
            /** @description Spent so far, including what rounds in progress have reserved */
            current_epsilon: number;
            projected_epsilon: number;
            /** @description The increase of epsilon; less than the cost of the round alone, because costs are composed */
            round_epsilon_cost: number;
            /** @description True until a budget is set */
            would_exceed_budget: boolean;
            /** @description 0 until a budget is set */
            budget_epsilon: number;
            target_delta: number;
            accountant: components["schemas"]["LedgerAccountant"];
            projected_epsilon_rdp: number;
            projected_epsilon_pld: number | null;
        };
        /**
         * @description A page of the privacy spent per round
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "history": [
         *         {
         *           "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *           "job_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000402",
         *           "status": "settled",
         *           "noise_multiplier": 1.1,
         *           "sample_rate": 0.01,
         *           "num_steps": 1,
         *           "clip_norm": 1,
         *           "epsilon_cost": 0.1426,
         *           "cumulative_epsilon": 0.1426,
         *           "accountant": "pld",
         *           "reserved_at": "2026-03-02T09:05:00.000Z",
         *           "settled_at": "2026-03-02T09:15:00.000Z"
         *         }
         *       ],
         *       "target_delta": 0.00001,
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        PrivacyHistory: {
            /** Format: uuid */
            federation_id: string;
            history: components["schemas"]["PrivacySpending"][];
            target_delta: number;
            total: number;
            limit: number;
            offset: number;
        };
        /** @description What one private round spent */
        PrivacySpending: {
            /** Format: uuid */
            round_id: string;
            job_id: string | null;
            /** @enum {string} */
            status: "reserved" | "settled";
            noise_multiplier: number;
            sample_rate: number;
            num_steps: number;
            clip_norm: number | null;
            epsilon_cost: number | null;
            cumulative_epsilon: number | null;
            accountant: components["schemas"]["LedgerAccountant"] | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            reserved_at: string;
            settled_at: string | null;
        };
        /**
         * @description How many more such rounds fit the budget
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "rounds_left": 21060,
         *       "budget_epsilon": 8,
         *       "target_delta": 0.00001,
         *       "current_epsilon": 0.1426
         *     }
         */
        PrivateRoundsLeft: {
            /** Format: uuid */
            federation_id: string;
            /** @description How many more times `num_steps` such rounds fit the budget, at most 10,000,000 */
            rounds_left: number;
            budget_epsilon: number;
            target_delta: number;
            current_epsilon: number;
        };
        /**
         * @description The new percentage of targets to activate
         * @example {
         *       "rollout_percentage": 100
         *     }
         */
        Promotion: {
            /** @description Higher than the current percentage */
            rollout_percentage: number;
        };
        /**
         * @description Where to send the browser
         * @example {
         *       "redirect_to": "https://login.acme.example/authorize?client_id=tributary&response_type=code&scope=openid+email+profile&state=Yk3nQ0aVx8JrT5mW"
         *     }
         */
        ProviderAddress: {
            /** @description Address at the identity provider */
            redirect_to: string;
        };
        /**
         * @description The response of the identity provider
         * @example {
         *       "query": "code=4fT9sZ2kQmC7&state=Yk3nQ0aVx8JrT5mW&iss=https%3A%2F%2Flogin.acme.example"
         *     }
         */
        ProviderCallback: {
            /** @description Query string of the callback address, without the question mark */
            query: string;
        };
        /**
         * @description A sign-in with the identity provider
         * @example {
         *       "org_id": "acme"
         *     }
         */
        ProviderSignIn: {
            /** @description Required when you belong to several organizations */
            org_id?: string;
        };
        /** @description A version that the job added to its model */
        PublishedVersion: {
            version: number;
            version_label: string;
            /** Format: uuid */
            round_id: string;
            round_number: number;
        };
        /**
         * @description A reason, stored in the history
         * @example {
         *       "reason": "Battery use went up on the beta testers"
         *     }
         */
        Reason: {
            /** @description Free text */
            reason?: string;
        };
        /**
         * @description What a round aggregated, and the result
         * @example {
         *       "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "strategy": "fedprox",
         *       "kernel": {
         *         "name": "wasm-f64",
         *         "version": "1"
         *       },
         *       "order": "device_id",
         *       "global_model_sha256": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f",
         *       "updates": [
         *         {
         *           "device_id": "pixel-8-0042",
         *           "update_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000403",
         *           "sha256": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f",
         *           "num_samples": 512,
         *           "weight": 0.052
         *         }
         *       ],
         *       "output_sha256": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f",
         *       "strategy_options": {
         *         "mu": 0.01
         *       }
         *     }
         */
        Receipt: {
            /** Format: uuid */
            round_id: string;
            strategy: string;
            kernel: {
                name: string;
                version: string;
            };
            order: string;
            global_model_sha256: string | null;
            updates: components["schemas"]["ReceiptUpdate"][];
            output_sha256: string;
            strategy_options?: { [key: string]: unknown; };
            population?: number;
            secure_aggregation?: components["schemas"]["SecureSettings"];
            state_sha256?: string | null;
            next_state_sha256?: string | null;
            next_control_sha256?: string | null;
            privacy?: components["schemas"]["ReceiptPrivacy"];
        };
        /** @description How a private round was aggregated */
        ReceiptPrivacy: {
            noise_multiplier: number;
            clip_norm: number;
            denominator: number;
            adaptive_clip: boolean;
            sample_rate?: number;
            /**
             * @description Every eligible device is drawn independently with the same probability
             * @enum {string}
             */
            sampling?: "poisson";
            /** @description Eligible devices N; sample_rate is min(1, target_devices / N), both fixed before the draw */
            population?: number;
            /**
             * @description Adjacency that epsilon is defined for: a device takes part, or the same device sends nothing; N does not change
             * @enum {string}
             */
            adjacency?: "zero-out";
            target_delta?: number;
            epsilon?: number;
            accountant?: components["schemas"]["Accountant"];
            noise_seed_sha256: string;
        };
        /** @description An update that a round aggregated */
        ReceiptUpdate: {
            /** @description The device's user-chosen id; its internal id once it is erased */
            device_id: string;
            org_id?: string | null;
            /** Format: uuid */
            update_id: string;
            sha256: string;
            num_samples: number;
            weight: number | null;
            control_sha256?: string;
            base_model_sha256?: string;
            staleness?: number;
        };
        /**
         * @description Recovery codes, shown only once
         * @example {
         *       "recovery_codes": [
         *         "7kx2m-q4w9t-hz3nb-8pcrf",
         *         "d5vga-2mxk7-t9qhn-w3zpb"
         *       ]
         *     }
         */
        RecoveryCodes: {
            /** @description Each code works once; empty if you already have some */
            recovery_codes: string[];
        };
        /**
         * @description The result of sending dead letters again
         * @example {
         *       "delivered": 1,
         *       "remaining": 0,
         *       "error": null
         *     }
         */
        Redelivery: {
            delivered: number;
            remaining: number;
            error: string | null;
        };
        /**
         * @description Where data must be kept; enforced where SERVICE_REGION is set
         * @enum {string}
         */
        Region: "us" | "eu" | "ap";
        /**
         * @description A registered device with its API key
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *       "device_id": "pixel-8-0042",
         *       "api_key": "sk_live_c2JfK7dHs9BgUa1EXq3vR8mTzL0pW5nY",
         *       "platform": "android",
         *       "status": "active",
         *       "created_at": "2026-03-02T09:00:00.000Z"
         *     }
         */
        Registration: {
            /** Format: uuid */
            id: string;
            device_id: string;
            /** @description Shown only once; cannot be retrieved later */
            api_key: string;
            platform: components["schemas"]["Platform"];
            status: components["schemas"]["DeviceStatus"];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        /**
         * @description Why it is not approved
         * @example {
         *       "reason": "Its accuracy on tablets was not measured."
         *     }
         */
        Rejection: {
            /** @description Shown to the requester */
            reason: string;
        };
        /**
         * @description Which devices were removed from a group
         * @example {
         *       "group_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000101",
         *       "removed": [
         *         "pixel-8-0043"
         *       ],
         *       "skipped": []
         *     }
         */
        RemovedDevices: {
            /** Format: uuid */
            group_id: string;
            removed: string[];
            /** @description Not in the group */
            skipped: string[];
        };
        /**
         * @description The organization that left or was removed
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "org_id": "globex",
         *       "message": "'globex' is no longer a member of 'keyboard-alliance'."
         *     }
         */
        RemovedMember: {
            /** Format: uuid */
            federation_id: string;
            org_id: string;
            message: string;
        };
        /**
         * @description A receipt compared with a new aggregation
         * @example {
         *       "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "matches": true,
         *       "expected_sha256": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f",
         *       "replayed_sha256": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
         *     }
         */
        Replay: {
            /** Format: uuid */
            round_id: string;
            matches: boolean;
            expected_sha256: string;
            replayed_sha256: string;
        };
        /**
         * @description A recorded report
         * @example {
         *       "plan_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *       "device_id": "pixel-8-0042",
         *       "state": "active",
         *       "version": "2.0.0",
         *       "reason": null,
         *       "reported_at": "2026-03-02T09:12:30.000Z",
         *       "current": true
         *     }
         */
        Report: {
            /** Format: uuid */
            plan_id: string;
            device_id: string;
            state: components["schemas"]["ReportState"];
            version: string;
            reason: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            reported_at: string;
            /** @description Whether the plan assigns this version to the device; if not, the report counts only if the device reported this version of the plan before */
            current: boolean;
        };
        /**
         * @description The state of a version on a device
         * @enum {string}
         */
        ReportState: "downloading" | "verifying" | "ready" | "active" | "failed";
        /** @description An update and how it compares with the others */
        ReviewedUpdate: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            round_id: string;
            /** Format: uuid */
            device_id: string;
            model_path: string;
            model_size_bytes: number;
            model_hash: string;
            num_samples: number;
            local_loss: number | null;
            local_accuracy: number | null;
            training_time_seconds: number | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /** @description The device's user-chosen id */
            device_identifier: string;
            metrics: { [key: string]: number; } | null;
            evaluation: components["schemas"]["EvaluationReport"] | null;
            norm: number | null;
            cosine: number | null;
            non_finite: number | null;
            weight: number | null;
            staleness: number | null;
            base_round_id: string | null;
        };
        /**
         * @description admin: everything; member: everything except administration; viewer: read only
         * @enum {string}
         */
        Role: "admin" | "member" | "viewer";
        /**
         * @description A rollout with what its devices reported
         * @example {
         *       "rollout_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "org_id": "acme",
         *       "version": "2.0.0",
         *       "status": "active",
         *       "percentage": 10,
         *       "initial_percentage": 10,
         *       "target_percentage": 100,
         *       "increment_step": 30,
         *       "step_interval_minutes": 60,
         *       "group_id": null,
         *       "auto_rollback": true,
         *       "reason": null,
         *       "next_step_at": "2026-03-02T10:05:00.000Z",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "started_at": "2026-03-02T09:05:00.000Z",
         *       "ended_at": null,
         *       "ended_by": null,
         *       "updated_at": "2026-03-02T09:05:00.000Z",
         *       "model_name": "next-word",
         *       "reports": {
         *         "downloading": 1,
         *         "verifying": 0,
         *         "ready": 1,
         *         "active": 10,
         *         "failed": 0
         *       },
         *       "health": {
         *         "since": "2026-03-02T09:05:00.000Z",
         *         "reports": 10,
         *         "failed": 0,
         *         "max_failure_share": 0.05,
         *         "min_reports": 3
         *       },
         *       "failures": [],
         *       "warnings": []
         *     }
         */
        Rollout: {
            /** Format: uuid */
            rollout_id: string;
            /** Format: uuid */
            model_id: string;
            org_id: string | null;
            version: string;
            status: components["schemas"]["RolloutStatus"];
            percentage: number;
            initial_percentage: number;
            target_percentage: number;
            increment_step: number;
            step_interval_minutes: number;
            group_id: string | null;
            auto_rollback: boolean;
            reason: string | null;
            next_step_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            started_at: string | null;
            ended_at: string | null;
            ended_by: ("user" | "service") | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updated_at: string;
            model_name: string | null;
            /** @description How many devices last reported each state; of a rolled-back rollout, withdrawn: it had not failed when the plan ended, and returns to its previous version */
            reports: {
                downloading: number;
                verifying: number;
                ready: number;
                active: number;
                failed: number;
                withdrawn?: number;
            };
            health: components["schemas"]["RolloutHealth"];
            /** @description The ten most frequent failure reasons */
            failures: components["schemas"]["FailureReason"][];
            /**
             * Format: uuid
             * @description The pending approval that its start waits for, if any
             */
            approval_id?: string;
            warnings: string[];
        };
        /** @description A device of a rollout and what it reported */
        RolloutDevice: {
            device_id: string;
            /**
             * @description assigned: no report yet; withdrawn: it had not failed when the plan ended, and returns to its previous version
             * @enum {string}
             */
            state: "assigned" | "downloading" | "verifying" | "ready" | "active" | "failed" | "withdrawn";
            version: string | null;
            reason: string | null;
            reported_at: string | null;
            /** @description Whether the rollout currently assigns its version to the device */
            current: boolean;
        };
        /**
         * @description A page of a rollout's devices
         * @example {
         *       "devices": [
         *         {
         *           "device_id": "pixel-8-0042",
         *           "state": "active",
         *           "version": "2.0.0",
         *           "reason": null,
         *           "reported_at": "2026-03-02T09:12:30.000Z",
         *           "current": true
         *         }
         *       ],
         *       "states": {
         *         "active": 1
         *       },
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        RolloutDeviceList: {
            devices: components["schemas"]["RolloutDevice"][];
            /** @description How many of the devices with `current` are in each state, on all pages */
            states: { [key: string]: number; };
            total: number;
            limit: number;
            offset: number;
        };
        /** @description The share of failures that pauses a rollout or rolls it back */
        RolloutHealth: {
            since: string | null;
            /** @description Devices that have reported the version as active or failed since `since` */
            reports: number;
            failed: number;
            /** @description Maximum share of failures among the reports */
            max_failure_share: number;
            /** @description Minimum number of reports before the share counts */
            min_reports: number;
        };
        /**
         * @description A page of the events of a rollout
         * @example {
         *       "events": [
         *         {
         *           "at": "2026-03-02T09:05:00.000Z",
         *           "event": "start",
         *           "status": "active",
         *           "percentage": 10,
         *           "reason": null,
         *           "actor": "0d9f1c2e-5b7a-4c3d-8e6f-000000000701"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        RolloutHistory: {
            events: components["schemas"]["DeliveryEvent"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description A page of rollouts
         * @example {
         *       "rollouts": [
         *         {
         *           "rollout_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "org_id": "acme",
         *           "version": "2.0.0",
         *           "status": "active",
         *           "percentage": 10,
         *           "initial_percentage": 10,
         *           "target_percentage": 100,
         *           "increment_step": 30,
         *           "step_interval_minutes": 60,
         *           "group_id": null,
         *           "auto_rollback": true,
         *           "reason": null,
         *           "next_step_at": "2026-03-02T10:05:00.000Z",
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "started_at": "2026-03-02T09:05:00.000Z",
         *           "ended_at": null,
         *           "ended_by": null,
         *           "updated_at": "2026-03-02T09:05:00.000Z",
         *           "model_name": "next-word"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        RolloutList: {
            rollouts: components["schemas"]["ListedRollout"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description The percentage of devices to reach
         * @example {
         *       "percentage": 40
         *     }
         */
        RolloutPercentage: {
            /** @description A value above the target raises the target; an active rollout that reaches it is completed */
            percentage: number;
        };
        /**
         * @description The schedule of a rollout that stays healthy
         * @example {
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "version": "2.0.0",
         *       "target_devices": 120,
         *       "steps": [
         *         {
         *           "after_minutes": 0,
         *           "percentage": 10,
         *           "devices": 12
         *         },
         *         {
         *           "after_minutes": 60,
         *           "percentage": 40,
         *           "devices": 48
         *         },
         *         {
         *           "after_minutes": 120,
         *           "percentage": 70,
         *           "devices": 84
         *         },
         *         {
         *           "after_minutes": 180,
         *           "percentage": 100,
         *           "devices": 120
         *         }
         *       ],
         *       "minutes_to_target": 180,
         *       "warnings": []
         *     }
         */
        RolloutPreview: {
            /** Format: uuid */
            model_id: string;
            version: string;
            target_devices: number;
            steps: {
                after_minutes: number;
                percentage: number;
                devices: number;
            }[];
            minutes_to_target: number;
            warnings: string[];
        };
        /**
         * @description The state of a rollout
         * @enum {string}
         */
        RolloutStatus: "pending" | "active" | "paused" | "completed" | "rolled_back";
        /** @description A rollout in a list */
        RolloutSummary: {
            /** Format: uuid */
            rollout_id: string;
            /** Format: uuid */
            model_id: string;
            org_id: string | null;
            version: string;
            status: components["schemas"]["RolloutStatus"];
            percentage: number;
            initial_percentage: number;
            target_percentage: number;
            increment_step: number;
            step_interval_minutes: number;
            group_id: string | null;
            auto_rollback: boolean;
            reason: string | null;
            next_step_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            started_at: string | null;
            ended_at: string | null;
            ended_by: ("user" | "service") | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            updated_at: string;
        };
        /**
         * @description A training round
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "org_id": "acme",
         *       "round_number": 7,
         *       "status": "active",
         *       "target_devices": 20,
         *       "min_devices": 10,
         *       "participated_devices": 20,
         *       "completed_devices": 1,
         *       "failed_devices": 0,
         *       "global_model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "global_model_path": "sha256/9b/9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *       "aggregated_model_id": null,
         *       "aggregated_model_path": null,
         *       "failure_reason": null,
         *       "started_at": "2026-03-02T09:05:00.000Z",
         *       "completed_at": null,
         *       "ended_at": null,
         *       "timeout_at": "2026-03-02T09:15:00.000Z",
         *       "created_at": "2026-03-02T09:05:00.000Z",
         *       "strategy": "fedprox",
         *       "strategy_options": {
         *         "mu": 0.01
         *       },
         *       "accuracy": null,
         *       "loss": null
         *     }
         */
        Round: {
            /** Format: uuid */
            id: string;
            org_id: string | null;
            round_number: number;
            status: components["schemas"]["RoundStatus"];
            target_devices: number;
            min_devices: number;
            participated_devices: number;
            completed_devices: number;
            failed_devices: number;
            global_model_id: string | null;
            global_model_path: string | null;
            aggregated_model_id: string | null;
            /**
             * Format: date-time
             * @description When retention deleted its model
             */
            model_deleted_at?: string;
            aggregated_model_path: string | null;
            failure_reason: string | null;
            started_at: string | null;
            completed_at: string | null;
            ended_at: string | null;
            timeout_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            strategy?: components["schemas"]["Strategy"];
            strategy_options?: { [key: string]: unknown; };
            /** Format: uuid */
            job_id?: string;
            /** Format: uuid */
            group_id?: string;
            /** Format: uuid */
            federation_id?: string;
            wanted_updates?: number;
            privacy?: components["schemas"]["RoundPrivacy"];
            secure_aggregation?: components["schemas"]["SecureSettings"];
            /** @description The model, if any, and the updates are raw little-endian float32 vectors */
            raw_vector?: boolean;
            accuracy?: number | null;
            loss?: number | null;
            /** @description Metrics of the models that the devices trained, as reported with their updates */
            metrics?: { [key: string]: components["schemas"]["MetricSummary"]; };
            /** @description Metrics for the round's new model, from the next round's updates or the evaluation after the job's last round */
            evaluation?: components["schemas"]["Evaluation"];
            /**
             * Format: date-time
             * @description Deadline for devices to evaluate the new model
             */
            evaluation_until?: string;
            /** @description Metrics of the model that the round distributed, reported with the updates */
            global_evaluation?: components["schemas"]["Evaluation"];
        };
        /**
         * @description A page of rounds
         * @example {
         *       "rounds": [
         *         {
         *           "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *           "org_id": "acme",
         *           "round_number": 7,
         *           "status": "active",
         *           "target_devices": 20,
         *           "min_devices": 10,
         *           "participated_devices": 20,
         *           "completed_devices": 1,
         *           "failed_devices": 0,
         *           "global_model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "global_model_path": "sha256/9b/9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *           "aggregated_model_id": null,
         *           "aggregated_model_path": null,
         *           "failure_reason": null,
         *           "started_at": "2026-03-02T09:05:00.000Z",
         *           "completed_at": null,
         *           "ended_at": null,
         *           "timeout_at": "2026-03-02T09:15:00.000Z",
         *           "created_at": "2026-03-02T09:05:00.000Z",
         *           "strategy": "fedprox",
         *           "strategy_options": {
         *             "mu": 0.01
         *           },
         *           "accuracy": null,
         *           "loss": null
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        RoundList: {
            rounds: components["schemas"]["Round"][];
            total: number;
            limit: number;
            offset: number;
        };
        /** @description How a private round clips, adds noise, and draws devices */
        RoundPrivacy: {
            noise_multiplier: number;
            clip_norm: number;
            denominator: number;
            sample_rate: number;
            /**
             * @description Every eligible device is drawn independently with the same probability
             * @enum {string}
             */
            sampling?: "poisson";
            /** @description Eligible devices N; sample_rate is min(1, target_devices / N), both fixed before the draw */
            population?: number;
            /**
             * @description Adjacency that epsilon is defined for: a device takes part, or the same device sends nothing; N does not change
             * @enum {string}
             */
            adjacency?: "zero-out";
            /**
             * Format: date-time
             * @description The latest end of the round; it ends earlier once every drawn device has delivered or failed
             */
            closes_at?: string;
            adaptive_clip: boolean;
            target_delta?: number;
            /** @description The cost of the round alone; costs are not additive */
            epsilon?: number;
            accountant?: components["schemas"]["Accountant"];
        };
        /**
         * @description The state of a round
         * @enum {string}
         */
        RoundStatus: "pending" | "active" | "aggregating" | "completed" | "failed";
        /** @description Control variates correct the drift of devices whose data differ (Karimireddy et al. 2020). */
        ScaffoldOptions: {
            /**
             * @description Server learning rate.
             * @default 1
             */
            server_learning_rate?: number;
        };
        /**
         * @description What a key may do
         * @enum {string}
         */
        Scope: "devices:read" | "devices:write" | "models:read" | "models:write" | "training:read" | "training:write" | "metrics:read" | "admin";
        /**
         * @description The second factor: one of these
         * @example {
         *       "code": "492039"
         *     }
         */
        SecondFactor: {
            /** @description The 6 digits that the authenticator app shows */
            code?: string;
            /** @description Each code works once */
            recovery_code?: string;
        };
        /** @description The service learns the sum of the updates and nothing about any single one */
        SecureAggregation: {
            /** @description Devices that must complete the round: more than half of the selected devices, and at least min_devices; default: two thirds, rounded up, and at least min_devices */
            threshold?: number;
            /** @description Maximum change of a model weight; default: 8 */
            range?: number;
            /** @description An update's weight is its number of samples, capped at this value; 1, the default, weights all devices equally */
            max_weight?: number;
        };
        /**
         * @description A device's public keys
         * @example {
         *       "encryption_key": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f",
         *       "masking_key": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
         *     }
         */
        SecureKeys: {
            /** @description X25519 public key with which others encrypt shares for this device */
            encryption_key: string;
            /** @description X25519 public key for agreeing on masks with other devices */
            masking_key: string;
        };
        /** @description The settings of a secure round */
        SecureSettings: {
            devices: number;
            threshold: number;
            range: number;
            max_weight: number;
        };
        /**
         * @description A device's encrypted shares for the others
         * @example {
         *       "seed_commitment": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f",
         *       "sealed": {
         *         "0d9f1c2e-5b7a-4c3d-8e6f-000000000043": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
         *       }
         *     }
         */
        SecureShares: {
            /** @description HKDF of the self mask's seed */
            seed_commitment: string;
            sealed: { [key: string]: string; };
        };
        /**
         * @description The state of a secure round for a device
         * @example {
         *       "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *       "status": "sharing",
         *       "reason": null,
         *       "deadline_at": "2026-03-02T09:15:00.000Z",
         *       "settings": {
         *         "devices": 20,
         *         "threshold": 14,
         *         "range": 8,
         *         "max_weight": 1
         *       },
         *       "device_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000042",
         *       "counted": true,
         *       "answered": false,
         *       "roster": {
         *         "0d9f1c2e-5b7a-4c3d-8e6f-000000000042": {
         *           "encryption_key": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f",
         *           "masking_key": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
         *         }
         *       },
         *       "shares": null,
         *       "delivered": null
         *     }
         */
        SecureState: {
            /** Format: uuid */
            round_id: string;
            /** @enum {string} */
            status: "advertising" | "sharing" | "masking" | "unmasking" | "done" | "failed";
            reason: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            deadline_at: string;
            settings: components["schemas"]["SecureSettings"];
            device_id: string | null;
            /** @description Whether the current step includes this device; while advertising, true for any device */
            counted: boolean;
            /** @description Whether this device has sent its message for the current step */
            answered: boolean;
            roster: { [key: string]: components["schemas"]["SecureKeys"]; } | null;
            shares: { [key: string]: string; } | null;
            delivered: string[] | null;
        };
        /**
         * @description Shares that remove the masks from the sum
         * @example {
         *       "self_masks": {
         *         "0d9f1c2e-5b7a-4c3d-8e6f-000000000042": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
         *       },
         *       "masking_keys": {
         *         "0d9f1c2e-5b7a-4c3d-8e6f-000000000043": "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
         *       }
         *     }
         */
        SecureUnmasking: {
            self_masks: { [key: string]: string; };
            masking_keys: { [key: string]: string; };
        };
        /** @description A model of an inference server */
        ServedModel: {
            id: string;
            object: string;
            /** @description Seconds since 1970 */
            created: number;
            owned_by: string;
        };
        /**
         * @description The models of an inference server
         * @example {
         *       "object": "list",
         *       "data": [
         *         {
         *           "id": "starter",
         *           "object": "model",
         *           "created": 1769860800,
         *           "owned_by": "local"
         *         }
         *       ]
         *     }
         */
        ServedModels: {
            object: string;
            data: components["schemas"]["ServedModel"][];
        };
        /**
         * @description Who is signed in, and the settings that the dashboard needs to start
         * @example {
         *       "signed_in": true,
         *       "enrollment": "token",
         *       "version": "1.1.0",
         *       "key_name": "my dashboard",
         *       "org_id": "acme",
         *       "scopes": [
         *         "devices:read",
         *         "training:read"
         *       ],
         *       "inference": true,
         *       "identity_provider": null,
         *       "person": null
         *     }
         */
        Session: {
            signed_in: boolean;
            /**
             * @description open: no key is required
             * @enum {string}
             */
            enrollment: "open" | "token";
            /** @description Version of the service */
            version: string;
            key_name: string | null;
            org_id: string | null;
            scopes: string[];
            /** @description Whether an inference server is configured (SERVICE_INFERENCE_URL) */
            inference: boolean;
            identity_provider: string | null;
            person: components["schemas"]["SignedInPerson"] | null;
        };
        /**
         * @description The sessions that have not ended
         * @example {
         *       "sessions": [
         *         {
         *           "id": "0b6c4f0e-2c1d-4b57-9a55-0c9a6f0f3b11",
         *           "key_id": "5f0d3d7e-3a44-4f9b-8a0c-6d1f5b0a9c22",
         *           "person_id": null,
         *           "email": null,
         *           "mfa": false,
         *           "browser": "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0",
         *           "created_at": "2026-01-31T12:00:00Z",
         *           "last_used_at": "2026-01-31T12:15:00Z",
         *           "expires_at": "2026-02-07T12:15:00Z",
         *           "current": true
         *         }
         *       ]
         *     }
         */
        SessionList: { sessions: components["schemas"]["ListedSession"][]; };
        /**
         * @description The version to move an alias to
         * @example {
         *       "version": "1.3.0"
         *     }
         */
        SetAliasRequest: {
            /** @description A number, a semantic version, latest, or another alias, which is resolved now */
            version: string;
            expected_version?: string | null;
        };
        /** @description A setting that is less strict than the preset */
        SettingViolation: {
            setting: string;
            value: unknown;
            preset: unknown;
        };
        /**
         * @description A model that members may read
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "org_id": "acme",
         *       "name": "next-word",
         *       "framework": "pytorch",
         *       "description": "Suggests the next word on the keyboard",
         *       "accuracy": 0.31,
         *       "loss": 3.42,
         *       "latest_version": 2,
         *       "shared_at": "2026-03-02T09:05:00.000Z"
         *     }
         */
        SharedModel: {
            /** Format: uuid */
            federation_id: string;
            /** Format: uuid */
            model_id: string;
            org_id: string | null;
            name: string | null;
            framework: string;
            description: string;
            accuracy: number | null;
            loss: number | null;
            latest_version: number | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            shared_at: string;
        };
        /**
         * @description A page of shared models
         * @example {
         *       "models": [
         *         {
         *           "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *           "org_id": "acme",
         *           "name": "next-word",
         *           "framework": "pytorch",
         *           "description": "Suggests the next word on the keyboard",
         *           "accuracy": 0.31,
         *           "loss": 3.42,
         *           "latest_version": 2,
         *           "shared_at": "2026-03-02T09:05:00.000Z"
         *         }
         *       ],
         *       "total": 1,
         *       "limit": 100,
         *       "offset": 0
         *     }
         */
        SharedModelList: {
            models: components["schemas"]["SharedModel"][];
            total: number;
            limit: number;
            offset: number;
        };
        /**
         * @description A link that signs in a browser, once
         * @example {
         *       "path": "/#sign-in=Zb2mB4Vt0cK8x1yq5o3n7p9rUeWdHgJfLaSiTkMvXzY",
         *       "expires_at": "2026-01-31T12:01:00Z"
         *     }
         */
        SignInLink: {
            /** @description Path to append to the dashboard's address; the code is in the fragment, which browsers do not send */
            path: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
        };
        /**
         * @description How the people of an organization sign in
         * @example {
         *       "org_id": "acme",
         *       "require_mfa": "admins",
         *       "session_hours": 12,
         *       "reauthenticate_minutes": null
         *     }
         */
        SignInPolicy: {
            org_id: string;
            /**
             * @description Who must use two-factor sign-in
             * @enum {string}
             */
            require_mfa: "off" | "admins" | "all";
            /** @description Maximum length of a session */
            session_hours: number;
            reauthenticate_minutes: number | null;
        };
        /**
         * @description A sign-in that waits for a second factor
         * @example {
         *       "next": "second_factor",
         *       "factors": [
         *         "totp",
         *         "recovery_code"
         *       ],
         *       "expires_in": 300
         *     }
         */
        SignInStep: {
            /** @enum {string} */
            next: "second_factor";
            /** @description Any one of these completes the sign-in */
            factors: ("passkey" | "totp" | "recovery_code")[];
            /** @description Seconds */
            expires_in: number;
        };
        /** @description The person who is signed in */
        SignedInPerson: {
            /** Format: uuid */
            id: string;
            email: string;
            name: string | null;
            /** @enum {string} */
            role: "admin" | "member" | "viewer";
            /** @description Whether the sign-in used two factors */
            mfa: boolean;
            restriction: ("enroll" | "confirm") | null;
        };
        /**
         * @description A started deployment
         * @example {
         *       "deployment_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000302",
         *       "status": "started",
         *       "target_count": 2,
         *       "activated_count": 1,
         *       "warnings": []
         *     }
         */
        StartedDeployment: {
            /** Format: uuid */
            deployment_id: string;
            status: components["schemas"]["DeploymentStatus"];
            target_count: number;
            activated_count: number;
            /**
             * Format: uuid
             * @description The pending approval, if the state is pending_approval
             */
            approval_id?: string;
            /** @description Accepted input that is probably a mistake */
            warnings: string[];
        };
        /**
         * @description A started experiment
         * @example {
         *       "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000303",
         *       "status": "running",
         *       "started_at": "2026-03-02T09:05:00.000Z"
         *     }
         */
        StartedExperiment: {
            /** Format: uuid */
            id: string;
            status: components["schemas"]["ExperimentStatus"];
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            started_at: string;
        };
        /**
         * @description The number of devices and models, and the latest round
         * @example {
         *       "status": "operational",
         *       "active_devices": 118,
         *       "total_devices": 120,
         *       "current_round_number": 7,
         *       "current_round_status": "active",
         *       "total_models": 2,
         *       "timestamp": "2026-03-02T09:12:30.000Z"
         *     }
         */
        Status: {
            /** @enum {string} */
            status: "operational" | "degraded" | "maintenance";
            active_devices: number;
            total_devices: number;
            current_round_number: number | null;
            current_round_status: ("pending" | "active" | "aggregating" | "completed" | "failed") | null;
            total_models: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            timestamp: string;
        };
        /** @description When to stop before all rounds are completed */
        StopCondition: {
            /** @description Stop when the best value of the last `patience` rounds is better than the best before them by less than this amount */
            improvement_below: number;
            /** @description The same value as improvement_below */
            loss_improvement_below: number;
            patience: number;
        };
        /**
         * @description An aggregation strategy
         * @enum {string}
         */
        Strategy: "fedavg" | "fedprox" | "scaffold" | "krum" | "multikrum" | "fedmedian" | "fedtrimmedavg" | "fedopt" | "fedadam" | "ditto" | "fedbuff" | "xgb_bagging" | "xgb_cyclic";
        /** @description Options of the chosen strategy */
        StrategyOptions: components["schemas"]["FedavgOptions"] | components["schemas"]["FedproxOptions"] | components["schemas"]["ScaffoldOptions"] | components["schemas"]["KrumOptions"] | components["schemas"]["MultikrumOptions"] | components["schemas"]["FedmedianOptions"] | components["schemas"]["FedtrimmedavgOptions"] | components["schemas"]["FedoptOptions"] | components["schemas"]["FedadamOptions"] | components["schemas"]["DittoOptions"] | components["schemas"]["FedbuffOptions"] | components["schemas"]["Xgb_baggingOptions"] | components["schemas"]["Xgb_cyclicOptions"];
        /**
         * @description The result of Welch's t-test
         * @example {
         *       "query_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000601",
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "query_type": "t-test",
         *       "variable": "local_accuracy",
         *       "status": "completed",
         *       "created_at": "2026-03-02T09:12:30.000Z",
         *       "t_statistic": 3.33,
         *       "p_value": 0.001,
         *       "degrees_of_freedom": 190.4,
         *       "confidence_interval": {
         *         "lower": 0.012,
         *         "upper": 0.048,
         *         "level": 0.95
         *       },
         *       "significant": true,
         *       "effect_size": 0.46,
         *       "groups": [
         *         {
         *           "group_id": "acme",
         *           "count": 118,
         *           "mean": 0.34,
         *           "std_dev": 0.06
         *         },
         *         {
         *           "group_id": "globex",
         *           "count": 97,
         *           "mean": 0.31,
         *           "std_dev": 0.07
         *         }
         *       ],
         *       "warnings": []
         *     }
         */
        TTest: {
            /** Format: uuid */
            query_id: string;
            /** Format: uuid */
            federation_id: string;
            /** @enum {string} */
            query_type: "descriptive" | "t-test" | "anova" | "chi-square";
            variable: string;
            /** @enum {string} */
            status: "completed" | "failed";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            t_statistic: number | null;
            p_value: number | null;
            degrees_of_freedom: number | null;
            confidence_interval: {
                lower: number;
                upper: number;
                level: number;
            } | null;
            significant: boolean;
            effect_size: number | null;
            groups: components["schemas"]["GroupSummary"][];
            warnings: string[];
        };
        /**
         * @description The people of an organization
         * @example {
         *       "org_id": "acme",
         *       "members": [
         *         {
         *           "id": "7c1d6a52-0a3e-4b8e-9a44-1f0f4c0f7b21",
         *           "email": "ada@acme.example",
         *           "name": "Ada",
         *           "role": "admin",
         *           "status": "active",
         *           "mfa": true,
         *           "signed_in_at": "2026-03-02T09:12:30.000Z",
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "expires_at": null
         *         },
         *         {
         *           "id": "e0a8f1c4-3b52-4f0a-8a7b-6a2f9c1d5e33",
         *           "email": "bob@acme.example",
         *           "name": null,
         *           "role": "member",
         *           "status": "invited",
         *           "mfa": false,
         *           "signed_in_at": null,
         *           "created_at": "2026-03-02T09:00:00.000Z",
         *           "expires_at": "2026-03-09T09:00:00.000Z"
         *         }
         *       ]
         *     }
         */
        Team: {
            org_id: string;
            members: components["schemas"]["TeamMember"][];
        };
        /**
         * @description An invitation with its link, which is shown only here
         * @example {
         *       "id": "e0a8f1c4-3b52-4f0a-8a7b-6a2f9c1d5e33",
         *       "email": "bob@acme.example",
         *       "name": null,
         *       "role": "member",
         *       "status": "invited",
         *       "mfa": false,
         *       "signed_in_at": null,
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": "2026-03-09T09:00:00.000Z",
         *       "org_id": "acme",
         *       "token": "mB92K27uhbUJU1p1r_wW1gFWFOEjXkdBjftJeZ4CVPw",
         *       "link": "https://fleet.acme.example/#invitation=mB92K27uhbUJU1p1r_wW1gFWFOEjXkdBjftJeZ4CVPw",
         *       "mail": "sent"
         *     }
         */
        TeamInvitation: {
            /** Format: uuid */
            id: string;
            email: string | null;
            name: string | null;
            role: components["schemas"]["Role"];
            /**
             * @description Invitations expire after 7 days
             * @enum {string}
             */
            status: "active" | "invited" | "expired";
            /** @description Whether a second factor or a passkey is set up */
            mfa: boolean;
            signed_in_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            expires_at: string | null;
            org_id: string;
            /** @description Shown only once */
            token: string;
            /** @description Link for the invited person; works once */
            link: string;
            /** @description sent; off (SERVICE_SMTP_URL is not set); or failed, with the error of the mail server */
            mail: string;
        };
        /**
         * @description A member of an organization, or an invitation to it
         * @example {
         *       "id": "7c1d6a52-0a3e-4b8e-9a44-1f0f4c0f7b21",
         *       "email": "ada@acme.example",
         *       "name": "Ada",
         *       "role": "admin",
         *       "status": "active",
         *       "mfa": true,
         *       "signed_in_at": "2026-03-02T09:12:30.000Z",
         *       "created_at": "2026-03-02T09:00:00.000Z",
         *       "expires_at": null
         *     }
         */
        TeamMember: {
            /** Format: uuid */
            id: string;
            email: string | null;
            name: string | null;
            role: components["schemas"]["Role"];
            /**
             * @description Invitations expire after 7 days
             * @enum {string}
             */
            status: "active" | "invited" | "expired";
            /** @description Whether a second factor or a passkey is set up */
            mfa: boolean;
            signed_in_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            expires_at: string | null;
        };
        /**
         * @description A code of an authenticator app
         * @example {
         *       "code": "492039"
         *     }
         */
        TotpCode: {
            /** @description The 6 digits that the app shows */
            code: string;
        };
        /**
         * @description The secret for setting up an authenticator app
         * @example {
         *       "secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
         *       "uri": "otpauth://totp/Tributary%20(acme):ada%40acme.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Tributary%20(acme)"
         *     }
         */
        TotpSecret: {
            /** @description Base32; shown only once */
            secret: string;
            /** @description The same secret as a URI for a QR code */
            uri: string;
        };
        /**
         * @description A model that is no longer shared
         * @example {
         *       "federation_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000501",
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "message": "Members of 'keyboard-alliance' can no longer read the model."
         *     }
         */
        UnsharedModel: {
            /** Format: uuid */
            federation_id: string;
            /** Format: uuid */
            model_id: string;
            message: string;
        };
        /**
         * @description The code that a program shows
         * @example {
         *       "user_code": "WDJB-MKHT"
         *     }
         */
        UserCode: {
            /** @description As shown, with or without the hyphen */
            user_code: string;
        };
        /** @description A variant of an experiment */
        Variant: {
            name: string;
            /** Format: uuid */
            model_id: string;
            version: string;
            /** @description The share of devices; all of them sum to 1 */
            allocation: number;
        };
        /**
         * @description Which variant a device has
         * @example {
         *       "experiment_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000303",
         *       "device_id": "pixel-8-0042",
         *       "status": "running",
         *       "variant": "candidate",
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "version": "2.0.0",
         *       "assigned": true,
         *       "reason": null
         *     }
         */
        VariantAssignment: {
            /** Format: uuid */
            experiment_id: string;
            device_id: string;
            status: components["schemas"]["ExperimentStatus"];
            variant: string | null;
            model_id: string | null;
            version: string | null;
            /** @description Whether the variant is currently assigned to the device */
            assigned: boolean;
            reason: string | null;
        };
        /** @description A variant compared with the first */
        VariantComparison: {
            variant: string;
            baseline: string;
            difference: number | null;
            t_statistic: number | null;
            degrees_of_freedom: number | null;
            p_value: number | null;
            adjusted_p_value: number | null;
            effect_size: number | null;
            confidence_interval: components["schemas"]["ConfidenceInterval"] | null;
            always_valid_interval: {
                lower: number;
                upper: number;
                level: number;
            } | null;
            /** @description Whether the always-valid interval excludes zero */
            decided: boolean;
        };
        /**
         * @description What to compare the chains with
         * @example {
         *       "org_id": "acme",
         *       "heads": [
         *         {
         *           "org_id": "acme",
         *           "seq": 57,
         *           "hash": "3f0e6a8b5f4d4c1f9e1c7a2b8d6e5f40312233445566778899aabbccddeeff00",
         *           "at": "2026-03-02T09:12:30.000Z",
         *           "signature": "Yk3nQ0aVx8JrT5mWZ2mB4Vt0cK8x1yq5o3n7p9rUeWdHgJfLaSiTkMvXzYYk3nQ0aVx8JrT5mWZ2mB4Vt0cKw=="
         *         }
         *       ]
         *     }
         */
        VerifyAudit: {
            /** @description One organization; default: all that the key may see */
            org_id?: string;
            /** @description Signed heads that you saved from audit-heads.jsonl or GET /audit/head */
            heads?: {
                org_id: string | null;
                seq: number;
                hash: string;
                at: string;
                signature: string;
            }[];
        };
        /**
         * @description Changes of a version
         * @example {
         *       "metadata": {
         *         "accuracy": 0.92,
         *         "dataset": null
         *       }
         *     }
         */
        VersionChanges: {
            /** @description The keys to add, change, or, with null, delete; others are kept. Afterwards: at most 64 entries and 8192 characters of JSON; keys of 1 to 64 characters on one line; values are text of at most 500 characters, finite numbers, or true or false */
            metadata: { [key: string]: string | number | boolean | null; };
        };
        /**
         * @description The format of a version's file
         * @enum {string}
         */
        VersionFormat: "pytorch" | "tensorflow" | "onnx" | "sklearn" | "xgboost";
        /**
         * @description A version, where it came from, and where it runs
         * @example {
         *       "version": 2,
         *       "version_label": "2.0.0",
         *       "format": "pytorch",
         *       "model_size_bytes": 4812800,
         *       "model_hash": "sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
         *       "uploaded_at": "2026-03-02T09:05:00.000Z",
         *       "metadata": {
         *         "accuracy": 0.91,
         *         "dataset": "2026-02"
         *       },
         *       "formats": [
         *         {
         *           "format": "onnx",
         *           "state": "ready",
         *           "reason": null,
         *           "model_size_bytes": 4801024,
         *           "model_hash": "sha256:5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99"
         *         },
         *         {
         *           "format": "tflite",
         *           "state": "pending",
         *           "reason": null,
         *           "model_size_bytes": null,
         *           "model_hash": null
         *         }
         *       ],
         *       "aliases": [
         *         "production"
         *       ],
         *       "trained_by": {
         *         "job_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000402",
         *         "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *         "round_number": 7,
         *         "metrics": {
         *           "loss": 3.42,
         *           "accuracy": 0.31
         *         },
         *         "receipt_path": "/api/v1/training/rounds/0d9f1c2e-5b7a-4c3d-8e6f-000000000401/receipt"
         *       },
         *       "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000201",
         *       "model_name": "next-word",
         *       "description": "",
         *       "training": {
         *         "job_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000402",
         *         "job_name": "next-word-march",
         *         "round_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000401",
         *         "round_number": 7,
         *         "strategy": "fedavg",
         *         "strategy_options": {},
         *         "selected_devices": 20,
         *         "completed_devices": 18,
         *         "failed_devices": 2,
         *         "trained_from": {
         *           "model_id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000202",
         *           "version": 1
         *         },
         *         "privacy_spent": null,
         *         "receipt_path": "/api/v1/training/rounds/0d9f1c2e-5b7a-4c3d-8e6f-000000000401/receipt",
         *         "ended_at": "2026-03-02T09:15:00.000Z"
         *       },
         *       "runs": {
         *         "devices": {
         *           "active": 118,
         *           "failed": 2
         *         },
         *         "uses": [
         *           {
         *             "kind": "rollout",
         *             "id": "0d9f1c2e-5b7a-4c3d-8e6f-000000000301",
         *             "name": null,
         *             "status": "active",
         *             "percentage": 30,
         *             "created_at": "2026-03-02T10:05:00.000Z"
         *           }
         *         ]
         *       }
         *     }
         */
        VersionLineage: {
            version: number;
            version_label: string;
            format: components["schemas"]["VersionFormat"];
            model_size_bytes: number;
            model_hash: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            uploaded_at: string;
            /** @description What was recorded with the version, such as metrics and parameters, by key */
            metadata: { [key: string]: string | number | boolean; };
            /** @description Conversions to other formats; downloadVersion serves those that are ready */
            formats: components["schemas"]["ConvertedFile"][];
            trained_by: components["schemas"]["VersionOrigin"] | null;
            /** @description Aliases that currently point to this version */
            aliases: string[];
            /** Format: uuid */
            model_id: string;
            model_name: string | null;
            description: string;
            training: components["schemas"]["VersionTraining"] | null;
            runs: components["schemas"]["VersionRuns"] | null;
        };
        /** @description A version that has this file */
        VersionOfFile: {
            /** Format: uuid */
            model_id: string;
            version: number;
        };
        /** @description The training round that the version came from; null for an upload */
        VersionOrigin: {
            job_id: string | null;
            /** Format: uuid */
            round_id: string;
            round_number: number;
            /** @description Metrics of the round: loss, accuracy */
            metrics: { [key: string]: number; };
            /** @description Path of the receipt, which svc train verify replays */
            receipt_path: string;
        };
        /** @description Where the version runs; null for a model that a federation shares */
        VersionRuns: {
            /** @description Devices by last reported state: downloading, verifying, ready, active, or failed; withdrawn: it had not failed when its plan was rolled back or stopped */
            devices: { [key: string]: number; };
            /** @description At most 100, newest first. If there are more, the oldest that devices no longer get are left out */
            uses: components["schemas"]["VersionUse"][];
        };
        /** @description How the version was trained; null for an upload, or if the key has no access to the round */
        VersionTraining: {
            job_id: string | null;
            job_name: string | null;
            /** Format: uuid */
            round_id: string;
            round_number: number;
            strategy: string;
            strategy_options: { [key: string]: unknown; };
            selected_devices: number;
            completed_devices: number;
            failed_devices: number;
            trained_from: {
                /** Format: uuid */
                model_id: string;
                version: number;
            } | null;
            privacy_spent: {
                epsilon: number;
                target_delta: number;
                rounds: number;
            } | null;
            /** @description Path of the receipt, which svc train verify replays */
            receipt_path: string;
            ended_at: string | null;
        };
        /** @description A plan that delivers or delivered the version to devices */
        VersionUse: {
            /** @enum {string} */
            kind: "rollout" | "deployment" | "experiment";
            /** Format: uuid */
            id: string;
            name: string | null;
            status: string;
            percentage: number | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        /** @description XGBoost: the new trees of every device are added to the model (like FedXgbBagging in Flower). */
        Xgb_baggingOptions: Record<string, never>;
        /** @description XGBoost: devices continue training one after another (like FedXgbCyclic in Flower). */
        Xgb_cyclicOptions: Record<string, never>;
    };
    responses: {
        /** @description A field of the request is missing or invalid */
        BadRequest: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource already exists, its state does not allow this, or something that the request refers to was deleted in the meantime */
        Conflict: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The API key is not allowed to do this */
        Forbidden: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The service's disk is full; nothing was stored */
        InsufficientStorage: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Unexpected server error */
        InternalError: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource does not exist */
        NotFound: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too many requests; retry after the number of seconds in the Retry-After header */
        RateLimited: {
            headers: {
                /** @description Seconds until another request is accepted */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The API key is missing or invalid */
        Unauthorized: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The database or the file storage does not respond, or too many passwords are being checked; retry after the number of seconds in the Retry-After header */
        Unavailable: {
            headers: {
                /** @description Seconds until another request is accepted */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The queue of the inference server is full; retry after the number of seconds in the Retry-After header */
        UpstreamBusy: {
            headers: {
                /** @description Seconds until another request is accepted */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The upstream server (for inference or sign-in) does not respond, or its response is invalid */
        UpstreamFailed: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The upstream server (for inference or sign-in) sent nothing for too long */
        UpstreamTimeout: {
            headers: { [name: string]: unknown; };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description The device's own id; default: the device that owns the key */
        AskedDevice: string;
        /** @description Id of a deployment */
        DeploymentId: string;
        /** @description The device's user-chosen id */
        DeviceId: string;
        /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
        DeviceOrgId: string;
        /** @description Id of an experiment */
        ExperimentId: string;
        /** @description Id of a federation */
        FederationId: string;
        /** @description Id of a device group */
        GroupId: string;
        /** @description Id of a training job */
        JobId: string;
        /** @description Items per page */
        LimitTo100: number;
        /** @description Items per page */
        LimitTo1000: number;
        /** @description Items per page */
        LimitTo200: number;
        /** @description Id or name of a model */
        ModelId: string;
        /** @description Standard deviation of the noise divided by the clip norm; at least 1e-9; values above 1e6 count as 1e6 */
        NoiseMultiplier: number;
        /** @description Number of rounds of this kind */
        NumSteps: number;
        /** @description Items to skip */
        Offset: number;
        /** @description The organization */
        OrgId: string;
        /** @description Id of a rollout */
        RolloutId: string;
        /** @description Id of a round */
        RoundId: string;
        /** @description Probability that a device is drawn: target devices / eligible devices; values below 1e-9 count as 1e-9 */
        SampleRate: number;
        /** @description SHA-256 of the whole file, in lowercase hex */
        Sha256: string;
        /** @description Default: the budget's delta */
        TargetDelta: number;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listAudit: {
        parameters: {
            query?: {
                /** @description One organization; default: all that the key may see */
                org_id?: string;
                /** @description Id or email address of a person, id or name of a key or device, or id of a session */
                actor?: string;
                /** @description An operationId, such as createKey */
                action?: string;
                /** @description Id or name of what was changed */
                object?: string;
                /** @description refused: not allowed; failed: the request changed something before it failed */
                result?: components["schemas"]["AuditResult"];
                /** @description Entries at or after this time */
                since?: string;
                /** @description Entries before this time */
                until?: string;
                /** @description `next` of the previous page */
                after?: string;
                /** @description Items per page */
                limit?: number;
            };
        };
        responses: {
            /** @description Entries of the audit log, newest first */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAuditEntry: {
        parameters: { path: { entry_id: number; }; };
        responses: {
            /** @description Who did what, and when */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AuditEntry"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    exportAudit: {
        parameters: {
            query?: {
                /** @description One organization; default: all that the key may see */
                org_id?: string;
                /** @description Id or email address of a person, id or name of a key or device, or id of a session */
                actor?: string;
                /** @description An operationId, such as createKey */
                action?: string;
                /** @description Id or name of what was changed */
                object?: string;
                /** @description refused: not allowed; failed: the request changed something before it failed */
                result?: components["schemas"]["AuditResult"];
                /** @description Entries at or after this time */
                since?: string;
                /** @description Entries before this time */
                until?: string;
                /** @description JSON lines, or CSV with a header row */
                format?: "jsonl" | "csv";
            };
        };
        responses: {
            /** @description Success */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAuditHeads: {
        parameters: {
        };
        responses: {
            /** @description The signed heads of the chains */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AuditHeads"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    verifyAudit: {
        parameters: {
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["VerifyAudit"];
            };
        };
        responses: {
            /** @description Whether the chains are intact */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AuditVerification"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description Only keys of this kind */
                kind?: "service" | "personal" | "device";
                /** @description List keys of devices instead of those of people and programs; ignored when `kind` is given */
                devices?: boolean;
                limit?: number;
                offset?: number;
            };
        };
        responses: {
            /** @description API keys */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["KeyList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createKey: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description A new API key with its secret, which is shown only here */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["CreatedKey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getOwnKey: {
        parameters: {
        };
        responses: {
            /** @description An API key without its secret */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeKey: {
        parameters: { path: { key_id: string; }; };
        responses: {
            /** @description An API key without its secret */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    rotateKey: {
        parameters: { path: { key_id: string; }; };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["KeyRotation"];
            };
        };
        responses: {
            /** @description A new API key with its secret, which is shown only here */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["CreatedKey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    createOrg: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewOrg"];
            };
        };
        responses: {
            /** @description An organization */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Org"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getOrg: {
        parameters: { path: { org_id: string; }; };
        responses: {
            /** @description An organization */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Org"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOrgSettings: {
        parameters: { path: { org_id: string; }; };
        responses: {
            /** @description The settings of an organization */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["OrgSettings"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    setOrgSettings: {
        parameters: { path: { org_id: string; }; };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeOrgSettings"];
            };
        };
        responses: {
            /** @description The settings of an organization */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["OrgSettings"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listApprovals: {
        parameters: {
            query?: {
                /** @description One organization */
                org_id?: string;
                /** @description failed: approved, but its target had changed in the meantime, or the requester is no longer allowed to do this */
                status?: components["schemas"]["ApprovalStatus"];
                /** @description `next` of the previous page */
                after?: string;
                /** @description Items per page */
                limit?: number;
            };
        };
        responses: {
            /** @description Requests for approval, newest first */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ApprovalPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getApproval: {
        parameters: {
            path: {
                /** @description Id of a request for approval */
                approval_id: string;
            };
        };
        responses: {
            /** @description A request that another admin approves or rejects */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    approveRequest: {
        parameters: {
            path: {
                /** @description Id of a request for approval */
                approval_id: string;
            };
        };
        responses: {
            /** @description A request that another admin approves or rejects */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    rejectRequest: {
        parameters: {
            path: {
                /** @description Id of a request for approval */
                approval_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rejection"];
            };
        };
        responses: {
            /** @description A request that another admin approves or rejects */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    cancelRequest: {
        parameters: {
            path: {
                /** @description Id of a request for approval */
                approval_id: string;
            };
        };
        responses: {
            /** @description A request that another admin approves or rejects */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listTeam: {
        parameters: {
            query?: {
                /** @description Only for keys that are not bound to an organization */
                org_id?: string;
            };
        };
        responses: {
            /** @description The people of an organization */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Team"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    inviteMember: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTeamMember"];
            };
        };
        responses: {
            /** @description An invitation with its link, which is shown only here */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["TeamInvitation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    removeMember: {
        parameters: { path: { member_id: string; }; };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    setMemberRole: {
        parameters: { path: { member_id: string; }; };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRole"];
            };
        };
        responses: {
            /** @description A member of an organization, or an invitation to it */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["TeamMember"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    eraseAuditName: {
        parameters: {
            query?: {
                /** @description Only for keys that are not bound to an organization */
                org_id?: string;
            };
            path: {
                /** @description As in the log entries: person, key, device, invitation, ... */
                name_kind: string;
                /** @description Its id in the log entries */
                name_id: string;
            };
        };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getSignInPolicy: {
        parameters: {
            query?: {
                /** @description Only for keys that are not bound to an organization */
                org_id?: string;
            };
        };
        responses: {
            /** @description How the people of an organization sign in */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SignInPolicy"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    setSignInPolicy: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSignInPolicy"];
            };
        };
        responses: {
            /** @description How the people of an organization sign in */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SignInPolicy"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    readInvitation: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationToken"];
            };
        };
        responses: {
            /** @description What an invitation is for */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["InvitationView"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    acceptInvitation: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationAcceptance"];
            };
        };
        responses: {
            /** @description A member of an organization, or an invitation to it */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["TeamMember"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getSession: {
        parameters: {
        };
        responses: {
            /** @description Who is signed in, and the settings that the dashboard needs to start */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    openSession: {
        parameters: {
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OpenSession"];
            };
        };
        responses: {
            /** @description A sign-in that waits for a second factor */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SignInStep"];
                };
            };
            /** @description Who is signed in, and the settings that the dashboard needs to start */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    closeSession: {
        parameters: {
        };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    createSignInLink: {
        parameters: {
        };
        responses: {
            /** @description A link that signs in a browser, once */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SignInLink"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listSessions: {
        parameters: {
        };
        responses: {
            /** @description The sessions that have not ended */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeSession: {
        parameters: { path: { session_id: string; }; };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getAccount: {
        parameters: {
        };
        responses: {
            /** @description The signed-in person, and their sign-in methods */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changePassword: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPassword"];
            };
        };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listOwnSessions: {
        parameters: {
        };
        responses: {
            /** @description The sessions that have not ended */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeOwnSession: {
        parameters: { path: { session_id: string; }; };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    beginTotp: {
        parameters: {
        };
        responses: {
            /** @description The secret for setting up an authenticator app */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["TotpSecret"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    removeTotp: {
        parameters: {
        };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    confirmTotp: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TotpCode"];
            };
        };
        responses: {
            /** @description Recovery codes, shown only once */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    renewRecoveryCodes: {
        parameters: {
        };
        responses: {
            /** @description Recovery codes, shown only once */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    resetSecondFactor: {
        parameters: { path: { member_id: string; }; };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listPasskeys: {
        parameters: {
        };
        responses: {
            /** @description Passkeys, oldest first */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PasskeyList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    addPasskey: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPasskey"];
            };
        };
        responses: {
            /** @description The added passkey */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AddedPasskey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    beginPasskey: {
        parameters: {
        };
        responses: {
            /** @description WebAuthn options for the browser */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PasskeyOptions"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    removePasskey: {
        parameters: { path: { passkey_id: string; }; };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    renamePasskey: {
        parameters: { path: { passkey_id: string; }; };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasskeyName"];
            };
        };
        responses: {
            /** @description A passkey of the signed-in person */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Passkey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    beginPasskeySignIn: {
        parameters: {
        };
        responses: {
            /** @description WebAuthn options for the browser */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PasskeyOptions"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    finishPasskeySignIn: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasskeySignIn"];
            };
        };
        responses: {
            /** @description Who is signed in, and the settings that the dashboard needs to start */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    showSecondFactor: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecondFactor"];
            };
        };
        responses: {
            /** @description Who is signed in, and the settings that the dashboard needs to start */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    confirmSession: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Confirmation"];
            };
        };
        responses: {
            /** @description Who is signed in, and the settings that the dashboard needs to start */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    beginProviderSignIn: {
        parameters: {
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ProviderSignIn"];
            };
        };
        responses: {
            /** @description Where to send the browser */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ProviderAddress"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            502: components["responses"]["UpstreamFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["UpstreamTimeout"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    finishProviderSignIn: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProviderCallback"];
            };
        };
        responses: {
            /** @description A sign-in that waits for a second factor */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SignInStep"];
                };
            };
            /** @description Who is signed in, and the settings that the dashboard needs to start */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            502: components["responses"]["UpstreamFailed"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["UpstreamTimeout"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    authorizeLogin: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginRequest"];
            };
        };
        responses: {
            /** @description The address to send the browser to */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["LoginApproval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    exchangeLoginCode: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginCode"];
            };
        };
        responses: {
            /** @description The API key of a sign-in */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["LoginToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    startDeviceLogin: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDeviceLogin"];
            };
        };
        responses: {
            /** @description The codes of a sign-in (RFC 8628, section 3.2) */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceLoginStart"];
                };
            };
            400: components["responses"]["BadRequest"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    exchangeDeviceCode: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceCode"];
            };
        };
        responses: {
            /** @description The API key of a sign-in */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["LoginToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getDeviceLogin: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserCode"];
            };
        };
        responses: {
            /** @description A program that asks to sign in */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceLogin"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    decideDeviceLogin: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceLoginDecision"];
            };
        };
        responses: {
            /** @description A program that asks to sign in */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceLogin"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listBenchmarks: {
        parameters: {
            query?: {
                /** @description An inference engine */
                engine?: components["schemas"]["Engine"];
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo100"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
        };
        responses: {
            /** @description A page of benchmark results */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["BenchmarkList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    shareBenchmark: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBenchmark"];
            };
        };
        responses: {
            /** @description A shared benchmark result */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Benchmark"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listDamagedFiles: {
        parameters: {
        };
        responses: {
            /** @description Damaged files, and the time since which all files were checked */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DamagedFileList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAliases: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        responses: {
            /** @description The aliases of a model, in alphabetical order */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AliasList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    setAlias: {
        parameters: {
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                /** @description Such as production */
                alias: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetAliasRequest"];
            };
        };
        responses: {
            /** @description A movable name for a version */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Alias"];
                };
            };
            /** @description A request that another admin approves or rejects */
            202: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    deleteAlias: {
        parameters: {
            query?: {
                /** @description Delete the alias only if it currently points to this version */
                expected_version?: string;
            };
            path: {
                /** @description A model id, or a model name */
                model_id: string;
                /** @description Such as production */
                alias: string;
            };
        };
        responses: {
            /** @description The aliases of a model, in alphabetical order */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AliasList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listAliasMoves: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo100"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
                alias?: string;
            };
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        responses: {
            /** @description Moves of aliases, newest first */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AliasHistory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getVersion: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description An integer from 1, a semantic version, latest, or an alias */
                version: string;
            };
        };
        responses: {
            /** @description A version, where it came from, and where it runs */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["VersionLineage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteVersion: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description An integer from 1, a semantic version, latest, or an alias */
                version: string;
            };
        };
        responses: {
            /** @description Success */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    updateVersion: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description An integer from 1, a semantic version, latest, or an alias */
                version: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VersionChanges"];
            };
        };
        responses: {
            /** @description A version, where it came from, and where it runs */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["VersionLineage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getUploadOffset: {
        parameters: {
            query: {
                /** @description Size of the whole file in bytes */
                size: number;
            };
            path: {
                /** @description SHA-256 of the whole file, in lowercase hex */
                sha256: components["parameters"]["Sha256"];
            };
        };
        responses: {
            /** @description The progress is in the Upload-Offset header */
            200: {
                headers: {
                    /** @description Bytes received so far */
                    "Upload-Offset"?: number;
                    [name: string]: unknown;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    appendToUpload: {
        parameters: {
            header: {
                /** @description Bytes received so far: the offset of this part */
                "upload-offset": string;
                /** @description Size of the whole file in bytes */
                "upload-length": string;
            };
            path: {
                /** @description SHA-256 of the whole file, in lowercase hex */
                sha256: components["parameters"]["Sha256"];
            };
        };
        requestBody: {
            content: {
                "application/octet-stream": unknown;
            };
        };
        responses: {
            /** @description The progress is in the Upload-Offset header */
            204: {
                headers: {
                    /** @description Bytes received so far */
                    "Upload-Offset"?: number;
                    [name: string]: unknown;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listModels: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo100"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
                /** @description Part of the name, case-insensitive */
                q?: string;
                /** @description The framework of a model */
                framework?: components["schemas"]["Framework"];
                is_baseline?: boolean;
                /** @description false omits models created by training rounds; default true */
                round_models?: boolean;
            };
        };
        responses: {
            /** @description A page of models */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createModel: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewModel"];
            };
        };
        responses: {
            /** @description A model in the catalog */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getModel: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        responses: {
            /** @description A model with its versions */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ModelDetail"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateModel: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelChanges"];
            };
        };
        responses: {
            /** @description A model in the catalog */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    uploadVersion: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["NewVersion"];
            };
        };
        responses: {
            /** @description An uploaded version of a model */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ModelVersion"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    downloadVersion: {
        parameters: {
            query?: { format?: "pytorch" | "onnx" | "tflite" | "coreml"; };
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description An integer from 1, a semantic version, latest, or an alias */
                version: string;
            };
        };
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description attachment, with the name of the file */
                    "Content-Disposition"?: string;
                    /** @description Bytes of the body */
                    "Content-Length"?: number;
                    /** @description sha256:<hex> of the whole file */
                    "X-Model-Hash"?: string;
                    /** @description The SHA-256 of the whole file, for If-None-Match and If-Range */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested range of the file */
            206: {
                headers: {
                    /** @description attachment, with the name of the file */
                    "Content-Disposition"?: string;
                    /** @description Bytes of the body */
                    "Content-Length"?: number;
                    /** @description sha256:<hex> of the whole file */
                    "X-Model-Hash"?: string;
                    /** @description The SHA-256 of the whole file, for If-None-Match and If-Range */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The file has not changed: it is the one that If-None-Match names */
            304: { headers: { [name: string]: unknown; }; };
            /** @description With Prefer: redirect, where the files are in S3: the address of the file there */
            307: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description The requested range is outside the file */
            416: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listFederations: {
        parameters: {
            query?: {
                /** @description Only federations that this organization is a member of or invited to */
                org_id?: string;
                name?: string;
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
        };
        responses: {
            /** @description A page of federations */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["FederationList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createFederation: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewFederation"];
            };
        };
        responses: {
            /** @description Organizations that train together */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Federation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getFederation: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description Organizations that train together */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Federation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    inviteToFederation: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Invitation"];
            };
        };
        responses: {
            /** @description Which organizations were invited */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["InvitedOrgs"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    joinFederation: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JoinRequest"];
            };
        };
        responses: {
            /** @description An organization's membership */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Membership"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listFederationMembers: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description A page of members */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["MemberList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeFederationMember: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
                org_id: string;
            };
        };
        responses: {
            /** @description The organization that left or was removed */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RemovedMember"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listSharedModels: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description A page of shared models */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SharedModelList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    shareModel: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelToShare"];
            };
        };
        responses: {
            /** @description A model that members may read */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SharedModel"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    unshareModel: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
                model_id: string;
            };
        };
        responses: {
            /** @description A model that is no longer shared */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["UnsharedModel"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getPrivacyBudget: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description A privacy budget, and how much of it is spent */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PrivacyBudget"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    setPrivacyBudget: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBudget"];
            };
        };
        responses: {
            /** @description A privacy budget, and how much of it is spent */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PrivacyBudget"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listPrivacyHistory: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo200"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description A page of the privacy spent per round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PrivacyHistory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    estimatePrivacyCost: {
        parameters: {
            query: {
                /** @description Standard deviation of the noise divided by the clip norm; at least 1e-9; values above 1e6 count as 1e6 */
                noise_multiplier: components["parameters"]["NoiseMultiplier"];
                /** @description Probability that a device is drawn: target devices / eligible devices; values below 1e-9 count as 1e-9 */
                sample_rate: components["parameters"]["SampleRate"];
                /** @description Number of rounds of this kind */
                num_steps?: components["parameters"]["NumSteps"];
                /** @description Default: the budget's delta */
                target_delta?: components["parameters"]["TargetDelta"];
            };
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description What a private round would cost */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PrivacyEstimate"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    findNoise: {
        parameters: {
            query: {
                /** @description Probability that a device is drawn: target devices / eligible devices; values below 1e-9 count as 1e-9 */
                sample_rate: components["parameters"]["SampleRate"];
                /** @description Number of rounds of this kind */
                num_steps?: components["parameters"]["NumSteps"];
                /** @description Default: the budget's */
                target_epsilon?: number;
                /** @description Default: the budget's delta */
                target_delta?: components["parameters"]["TargetDelta"];
            };
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description The lowest noise multiplier for an epsilon */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["NoiseForEpsilon"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    countPrivateRounds: {
        parameters: {
            query: {
                /** @description Standard deviation of the noise divided by the clip norm; at least 1e-9; values above 1e6 count as 1e6 */
                noise_multiplier: components["parameters"]["NoiseMultiplier"];
                /** @description Probability that a device is drawn: target devices / eligible devices; values below 1e-9 count as 1e-9 */
                sample_rate: components["parameters"]["SampleRate"];
                /** @description Number of rounds of this kind */
                num_steps?: components["parameters"]["NumSteps"];
                /** @description Default: the budget's delta */
                target_delta?: components["parameters"]["TargetDelta"];
            };
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description How many more such rounds fit the budget */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PrivateRoundsLeft"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    registerDevice: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDevice"];
            };
        };
        responses: {
            /** @description A registered device with its API key */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Registration"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listDevices: {
        parameters: {
            query: {
                /** @description The organization */
                org_id: components["parameters"]["OrgId"];
                /** @description A device's operating system or runtime */
                platform?: components["schemas"]["Platform"];
                /** @description inactive: no recent heartbeat, or the device reported itself inactive */
                status?: components["schemas"]["DeviceStatus"];
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
        };
        responses: {
            /** @description A page of devices */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDevice: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        responses: {
            /** @description A device and what it last reported */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Device"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    exportDevice: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
                /** @description Number of rows of each kind to skip */
                offset?: number;
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        responses: {
            /** @description All data stored about a device */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceExport"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    eraseDevice: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceErasureRequest"];
            };
        };
        responses: {
            /** @description The receipt of an erased device */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceErasure"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listDeviceErasures: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
        };
        responses: {
            /** @description A page of receipts */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceErasureList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDeviceErasure: {
        parameters: { path: { erasure_id: string; }; };
        responses: {
            /** @description The receipt of an erased device */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceErasure"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    searchDevices: {
        parameters: {
            query?: {
                /** @description Only devices of this organization, and those without one if the key sees them */
                org_id?: string;
                /** @description Part of the device_id, case-insensitive */
                q?: string;
                /** @description The whole device_id; several organizations may use it */
                device_id?: string;
                platform?: "ios" | "android" | "macos" | "linux" | "windows" | "browser" | "python" | "unknown";
                /** @description inactive: no recent heartbeat, or the device reported itself inactive */
                status?: components["schemas"]["DeviceStatus"];
                /** @description JSON list of conditions, as in `filter` of a device group; only devices that meet all of them */
                filter?: string;
                sort?: "device_id" | "last_seen" | "created";
                order?: "asc" | "desc";
                /** @description `next` of the previous page */
                after?: string;
                limit?: number;
            };
        };
        responses: {
            /** @description A page of devices */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["FleetDevices"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getFleetSummary: {
        parameters: {
            query?: {
                /** @description Only devices of this organization */
                org_id?: string;
            };
        };
        responses: {
            /** @description Device counts of the fleet */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["FleetSummary"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listGroups: {
        parameters: {
            query: {
                /** @description The organization */
                org_id: components["parameters"]["OrgId"];
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
        };
        responses: {
            /** @description A page of device groups */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["GroupList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createGroup: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewGroup"];
            };
        };
        responses: {
            /** @description A device group */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listGroupsOfDevice: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        responses: {
            /** @description The groups that a device is in */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceGroups"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getGroup: {
        parameters: {
            path: {
                /** @description Id of a device group */
                group_id: components["parameters"]["GroupId"];
            };
        };
        responses: {
            /** @description A device group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateGroup: {
        parameters: {
            path: {
                /** @description Id of a device group */
                group_id: components["parameters"]["GroupId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GroupChanges"];
            };
        };
        responses: {
            /** @description A device group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Group"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    deleteGroup: {
        parameters: {
            path: {
                /** @description Id of a device group */
                group_id: components["parameters"]["GroupId"];
            };
        };
        responses: {
            /** @description A deleted device group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeletedGroup"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listGroupDevices: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a device group */
                group_id: components["parameters"]["GroupId"];
            };
        };
        responses: {
            /** @description A page of the devices in a group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["GroupDeviceList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    addGroupDevices: {
        parameters: {
            path: {
                /** @description Id of a device group */
                group_id: components["parameters"]["GroupId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DevicesToAdd"];
            };
        };
        responses: {
            /** @description Which devices were added to a group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AddedDevices"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    removeGroupDevices: {
        parameters: {
            path: {
                /** @description Id of a device group */
                group_id: components["parameters"]["GroupId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DevicesToRemove"];
            };
        };
        responses: {
            /** @description Which devices were removed from a group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RemovedDevices"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    addGroupDevice: {
        parameters: {
            path: {
                /** @description Id of a device group */
                group_id: components["parameters"]["GroupId"];
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        responses: {
            /** @description Which devices were added to a group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AddedDevices"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    removeGroupDevice: {
        parameters: {
            path: {
                /** @description Id of a device group */
                group_id: components["parameters"]["GroupId"];
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        responses: {
            /** @description Which devices were removed from a group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RemovedDevices"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    sendHeartbeat: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
                /** @description Hold the response until a round awaits the device or its assignments change, for at most this long */
                wait_seconds?: number;
                /** @description The assignments_tag that the device has; unchanged assignments are then omitted */
                known_assignments?: string;
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Heartbeat"];
            };
        };
        responses: {
            /** @description The round that awaits the device, and its assignments */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["HeartbeatResponse"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getHeartbeatHistory: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        responses: {
            /** @description A device's heartbeats from the last day */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["HeartbeatHistory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAssignments: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        responses: {
            /** @description The assignments of a device */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AssignmentList"];
                };
            };
            /** @description The assignments have not changed: they are those that If-None-Match names */
            304: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDeviceReports: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
                /** @description Default: 100 */
                limit?: number;
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
            };
        };
        responses: {
            /** @description A device's last report for each plan */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeviceReports"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    reportAssignment: {
        parameters: {
            query?: {
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
            };
            path: {
                /** @description The device's user-chosen id */
                device_id: components["parameters"]["DeviceId"];
                plan_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewReport"];
            };
        };
        responses: {
            /** @description A recorded report */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listActiveRollouts: {
        parameters: {
        };
        responses: {
            /** @description The active rollouts */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ActiveRolloutList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAllRollouts: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
                /** @description Only rollouts in this state */
                status?: "pending" | "active" | "paused" | "completed" | "rolled_back";
                /** @description Only rollouts that a user or the service ended */
                ended_by?: "user" | "service";
                /** @description Only those that ended at or after this time */
                ended_since?: string;
            };
        };
        responses: {
            /** @description A page of the rollouts of all models */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AllRollouts"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listRollouts: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        responses: {
            /** @description A page of rollouts */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RolloutList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRollout"];
            };
        };
        responses: {
            /** @description A rollout with what its devices reported */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Rollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        responses: {
            /** @description A rollout with what its devices reported */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Rollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        responses: {
            /** @description A deleted rollout */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeletedRollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    previewRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRollout"];
            };
        };
        responses: {
            /** @description The schedule of a rollout that stays healthy */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RolloutPreview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getRolloutHistory: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        responses: {
            /** @description A page of the events of a rollout */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RolloutHistory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listRolloutDevices: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        responses: {
            /** @description A page of a rollout's devices */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RolloutDeviceList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    startRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description A rollout with what its devices reported */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Rollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    pauseRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description A rollout with what its devices reported */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Rollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    resumeRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description A rollout with what its devices reported */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Rollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    advanceRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description A rollout with what its devices reported */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Rollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    rollbackRollout: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description A rollout with what its devices reported */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Rollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    setRolloutPercentage: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
                /** @description Id of a rollout */
                rollout_id: components["parameters"]["RolloutId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RolloutPercentage"];
            };
        };
        responses: {
            /** @description A rollout with what its devices reported */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Rollout"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    prepareDeployment: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeploymentToPrepare"];
            };
        };
        responses: {
            /** @description The targets that a deployment would have */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PreparedDeployment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    executeDeployment: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDeployment"];
            };
        };
        responses: {
            /** @description A started deployment */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["StartedDeployment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listDeployments: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
                model_name?: string;
                /** @description Only deployments in this state */
                status?: "pending_approval" | "started" | "completed" | "failed" | "rolled_back" | "rejected";
                /** @description Only those that ended at or after this time */
                ended_since?: string;
            };
        };
        responses: {
            /** @description A page of deployments */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeploymentList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDeployment: {
        parameters: {
            path: {
                /** @description Id of a deployment */
                deployment_id: components["parameters"]["DeploymentId"];
            };
        };
        responses: {
            /** @description A deployment with the states of its devices */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Deployment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDeploymentDevices: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a deployment */
                deployment_id: components["parameters"]["DeploymentId"];
            };
        };
        responses: {
            /** @description A page of a deployment's targets */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeploymentDeviceList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDeploymentHistory: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a deployment */
                deployment_id: components["parameters"]["DeploymentId"];
            };
        };
        responses: {
            /** @description A page of the events of a deployment */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeploymentHistory"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    rollbackDeployment: {
        parameters: {
            path: {
                /** @description Id of a deployment */
                deployment_id: components["parameters"]["DeploymentId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description A deployment with the states of its devices */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Deployment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    promoteDeployment: {
        parameters: {
            path: {
                /** @description Id of a deployment */
                deployment_id: components["parameters"]["DeploymentId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Promotion"];
            };
        };
        responses: {
            /** @description A deployment with the states of its devices */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Deployment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listExperiments: {
        parameters: {
            query?: {
                /** @description The state of an experiment */
                status?: components["schemas"]["ExperimentStatus"];
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
        };
        responses: {
            /** @description A page of experiments */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ExperimentList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createExperiment: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewExperiment"];
            };
        };
        responses: {
            /** @description An experiment */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getExperiment: {
        parameters: {
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        responses: {
            /** @description An experiment */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    startExperiment: {
        parameters: {
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        responses: {
            /** @description A started experiment */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["StartedExperiment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    pauseExperiment: {
        parameters: {
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description An experiment */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    resumeExperiment: {
        parameters: {
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description An experiment */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    completeExperiment: {
        parameters: {
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description An experiment */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    cancelExperiment: {
        parameters: {
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Reason"];
            };
        };
        responses: {
            /** @description An experiment */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Experiment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getExperimentAssignment: {
        parameters: {
            query?: {
                /** @description The device's own id; default: the device that owns the key */
                device_id?: components["parameters"]["AskedDevice"];
            };
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        responses: {
            /** @description Which variant a device has */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["VariantAssignment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    addObservations: {
        parameters: {
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewObservations"];
            };
        };
        responses: {
            /** @description Which observations were accepted */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AcceptedObservations"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getExperimentAnalytics: {
        parameters: {
            query?: {
                /** @description Compare in this metric, for example to guard it. Default: the primary metric, which decides */
                metric?: string;
            };
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        responses: {
            /** @description How the variants of an experiment compare */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ExperimentAnalytics"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getExperimentEstimates: {
        parameters: {
            query?: {
                /** @description Maximum number of points; default: 200 */
                limit?: number;
            };
            path: {
                /** @description Id of an experiment */
                experiment_id: components["parameters"]["ExperimentId"];
            };
        };
        responses: {
            /** @description Estimates of an experiment over time */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ExperimentEstimates"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createPairing: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPairing"];
            };
        };
        responses: {
            /** @description A pairing with its code, which is shown only here */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["CreatedPairing"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getPairing: {
        parameters: { path: { pairing_id: string; }; };
        responses: {
            /** @description A pairing without its code */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Pairing"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    claimPairing: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PairingClaim"];
            };
        };
        responses: {
            /** @description A claimed pairing */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ClaimedPairing"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getPolicy: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        responses: {
            /** @description Rules for rolling out the result of a round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    setPolicy: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPolicy"];
            };
        };
        responses: {
            /** @description Rules for rolling out the result of a round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    deletePolicy: {
        parameters: {
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        responses: {
            /** @description Rules for rolling out the result of a round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listPolicies: {
        parameters: {
        };
        responses: {
            /** @description The policies of all models */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["PolicyList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDecisions: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id or name of a model */
                model_id: components["parameters"]["ModelId"];
            };
        };
        responses: {
            /** @description A page of a policy's decisions */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DecisionList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    startRound: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRound"];
            };
        };
        responses: {
            /** @description A training round */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Round"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getCurrentRound: {
        parameters: {
        };
        responses: {
            /** @description A training round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Round"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listRounds: {
        parameters: {
            query?: {
                /** @description The state of a round */
                status?: components["schemas"]["RoundStatus"];
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
        };
        responses: {
            /** @description A page of rounds */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RoundList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getRoundStatus: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description A training round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Round"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelRound: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Cancellation"];
            };
        };
        responses: {
            /** @description A training round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Round"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getRoundPlan: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description What a device needs to take part in a round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadRoundModel: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description attachment, with the name of the file */
                    "Content-Disposition"?: string;
                    /** @description Bytes of the body */
                    "Content-Length"?: number;
                    /** @description sha256:<hex> of the whole file */
                    "X-Model-Hash"?: string;
                    /** @description The SHA-256 of the whole file, for If-None-Match and If-Range */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested range of the file */
            206: {
                headers: {
                    /** @description attachment, with the name of the file */
                    "Content-Disposition"?: string;
                    /** @description Bytes of the body */
                    "Content-Length"?: number;
                    /** @description sha256:<hex> of the whole file */
                    "X-Model-Hash"?: string;
                    /** @description The SHA-256 of the whole file, for If-None-Match and If-Range */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The file has not changed: it is the one that If-None-Match names */
            304: { headers: { [name: string]: unknown; }; };
            /** @description With Prefer: redirect, where the files are in S3: the address of the file there */
            307: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description The requested range is outside the file */
            416: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadRoundControl: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description attachment, with the name of the file */
                    "Content-Disposition"?: string;
                    /** @description Bytes of the body */
                    "Content-Length"?: number;
                    /** @description sha256:<hex> of the whole file */
                    "X-Model-Hash"?: string;
                    /** @description The SHA-256 of the whole file, for If-None-Match and If-Range */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested range of the file */
            206: {
                headers: {
                    /** @description attachment, with the name of the file */
                    "Content-Disposition"?: string;
                    /** @description Bytes of the body */
                    "Content-Length"?: number;
                    /** @description sha256:<hex> of the whole file */
                    "X-Model-Hash"?: string;
                    /** @description The SHA-256 of the whole file, for If-None-Match and If-Range */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The file has not changed: it is the one that If-None-Match names */
            304: { headers: { [name: string]: unknown; }; };
            /** @description With Prefer: redirect, where the files are in S3: the address of the file there */
            307: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            /** @description The requested range is outside the file */
            416: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    explainSelection: {
        parameters: {
            query?: {
                /** @description The device's own id; default: the device that owns the key */
                device_id?: components["parameters"]["AskedDevice"];
                /** @description The device's organization; required for keys that are not bound to an organization if several organizations have this device_id */
                org_id?: components["parameters"]["DeviceOrgId"];
            };
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description Whether a device was selected, and why */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Participation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listRoundParticipants: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description A page of a round's devices */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ParticipantList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getEvaluationPlan: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description What a device needs to evaluate a model */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["EvaluationPlan"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    submitEvaluation: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEvaluation"];
            };
        };
        responses: {
            /** @description An accepted evaluation */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["EvaluationTaken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    downloadEvaluationModel: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description The file */
            200: {
                headers: {
                    /** @description attachment, with the name of the file */
                    "Content-Disposition"?: string;
                    /** @description Bytes of the body */
                    "Content-Length"?: number;
                    /** @description sha256:<hex> of the whole file */
                    "X-Model-Hash"?: string;
                    /** @description The SHA-256 of the whole file, for If-None-Match and If-Range */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The requested range of the file */
            206: {
                headers: {
                    /** @description attachment, with the name of the file */
                    "Content-Disposition"?: string;
                    /** @description Bytes of the body */
                    "Content-Length"?: number;
                    /** @description sha256:<hex> of the whole file */
                    "X-Model-Hash"?: string;
                    /** @description The SHA-256 of the whole file, for If-None-Match and If-Range */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The file has not changed: it is the one that If-None-Match names */
            304: { headers: { [name: string]: unknown; }; };
            /** @description With Prefer: redirect, where the files are in S3: the address of the file there */
            307: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            /** @description The requested range is outside the file */
            416: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getReceipt: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description What a round aggregated, and the result */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    replayReceipt: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description A receipt compared with a new aggregation */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Replay"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getSecureRound: {
        parameters: {
            query?: {
                /** @description How long the response may be held */
                wait_seconds?: number;
                /** @description The status that the caller knows; the response is held until it changes */
                known_status?: string;
            };
            path: { round_id: string; };
        };
        responses: {
            /** @description The state of a secure round for a device */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SecureState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    advertiseSecureKeys: {
        parameters: { path: { round_id: string; }; };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecureKeys"];
            };
        };
        responses: {
            /** @description The state of a secure round for a device */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SecureState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    dealSecureShares: {
        parameters: { path: { round_id: string; }; };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecureShares"];
            };
        };
        responses: {
            /** @description The state of a secure round for a device */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SecureState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    revealSecureShares: {
        parameters: { path: { round_id: string; }; };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecureUnmasking"];
            };
        };
        responses: {
            /** @description The state of a secure round for a device */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["SecureState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listTrainingJobs: {
        parameters: {
            query?: {
                /** @description The state of a training job */
                status?: components["schemas"]["JobStatus"];
                /** @description Id or name of the model that the job started from */
                model?: string;
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
        };
        responses: {
            /** @description A page of training jobs */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["JobList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    startTrainingJob: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJob"];
            };
        };
        responses: {
            /** @description A training job */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getTrainingJob: {
        parameters: {
            path: {
                /** @description Id of a training job */
                job_id: components["parameters"]["JobId"];
            };
        };
        responses: {
            /** @description A training job with its latest rounds */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["JobDetail"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listTrainingJobRounds: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a training job */
                job_id: components["parameters"]["JobId"];
            };
        };
        responses: {
            /** @description A page of rounds */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["RoundList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    stopTrainingJob: {
        parameters: {
            path: {
                /** @description Id of a training job */
                job_id: components["parameters"]["JobId"];
            };
        };
        responses: {
            /** @description A training job */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    resumeTrainingJob: {
        parameters: {
            path: {
                /** @description Id of a training job */
                job_id: components["parameters"]["JobId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobResumption"];
            };
        };
        responses: {
            /** @description A training job */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    extendTrainingJob: {
        parameters: {
            path: {
                /** @description Id of a training job */
                job_id: components["parameters"]["JobId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobExtension"];
            };
        };
        responses: {
            /** @description A training job */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listUpdates: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo1000"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        responses: {
            /** @description A page of a round's updates */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ModelUpdateList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    submitUpdate: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["NewModelUpdate"];
            };
        };
        responses: {
            /** @description A device's update */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ModelUpdate"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    reportFailure: {
        parameters: {
            path: {
                /** @description Id of a round */
                round_id: components["parameters"]["RoundId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Failure"];
            };
        };
        responses: {
            /** @description A training round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Round"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    describeVariable: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDescription"];
            };
        };
        responses: {
            /** @description A variable described by group */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Description"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listAnalyticsQueries: {
        parameters: {
            query?: {
                /** @description Items per page */
                limit?: components["parameters"]["LimitTo100"];
                /** @description Items to skip */
                offset?: components["parameters"]["Offset"];
            };
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        responses: {
            /** @description A page of queries */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AnalyticsQueryList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAnalyticsQuery: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
                query_id: string;
            };
        };
        responses: {
            /** @description A query and its result */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["AnalyticsQuery"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    compareTwoGroups: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTTest"];
            };
        };
        responses: {
            /** @description The result of Welch's t-test */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["TTest"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    compareGroups: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAnova"];
            };
        };
        responses: {
            /** @description The result of an analysis of variance */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Anova"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    testIndependence: {
        parameters: {
            path: {
                /** @description Id of a federation */
                federation_id: components["parameters"]["FederationId"];
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewChiSquare"];
            };
        };
        responses: {
            /** @description The result of Pearson's chi-square test */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ChiSquare"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listServedModels: {
        parameters: {
        };
        responses: {
            /** @description The models of an inference server */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ServedModels"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            502: components["responses"]["UpstreamFailed"];
            503: components["responses"]["UpstreamBusy"];
            504: components["responses"]["UpstreamTimeout"];
        };
    };
    createChatCompletion: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Chat"];
            };
        };
        responses: {
            /** @description The reply of the model */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            502: components["responses"]["UpstreamFailed"];
            503: components["responses"]["UpstreamBusy"];
            504: components["responses"]["UpstreamTimeout"];
        };
    };
    createEmbeddings: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmbeddingsRequest"];
            };
        };
        responses: {
            /** @description A vector for each text */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["EmbeddingList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            502: components["responses"]["UpstreamFailed"];
            503: components["responses"]["UpstreamBusy"];
            504: components["responses"]["UpstreamTimeout"];
        };
    };
    getHealth: {
        parameters: {
        };
        responses: {
            /** @description The service is running */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getStatus: {
        parameters: {
        };
        responses: {
            /** @description The number of devices and models, and the latest round */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    streamEvents: {
        parameters: {
            query?: {
                /** @description Separated by commas: round, job, model, rollout, deployment, experiment, policy, device, group, federation, approval, file. The default is all that the key may read. */
                topics?: string;
            };
            header?: {
                /** @description The id of the last event received; the stream continues after it */
                "last-event-id"?: string;
            };
        };
        responses: {
            /** @description Each event has an id, a type, and the data {"type", "subject": {"kind", "id"}, "payload", "time"}. A stream without Last-Event-ID starts with `ready`. After `resync`, reload all data: events were missed. */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description The key or the process has too many open streams, or the service is stopping; poll instead */
            204: { headers: { [name: string]: unknown; }; };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listIntegrations: {
        parameters: { query?: { kind?: "metrics" | "logs" | "training"; }; };
        responses: {
            /** @description Integrations */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["IntegrationList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createIntegration: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewIntegration"];
            };
        };
        responses: {
            /** @description A new integration; a webhook includes its secret */
            201: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["CreatedIntegration"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getIntegration: {
        parameters: { path: { integration_id: string; }; };
        responses: {
            /** @description A receiver of metrics, logs, or training runs */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Integration"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteIntegration: {
        parameters: { path: { integration_id: string; }; };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["IntegrationOfKind"];
            };
        };
        responses: {
            /** @description A receiver of metrics, logs, or training runs */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Integration"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    pauseIntegration: {
        parameters: { path: { integration_id: string; }; };
        responses: {
            /** @description A receiver of metrics, logs, or training runs */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Integration"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    resumeIntegration: {
        parameters: { path: { integration_id: string; }; };
        responses: {
            /** @description A receiver of metrics, logs, or training runs */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Integration"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    testIntegration: {
        parameters: { path: { integration_id: string; }; };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["IntegrationOfKind"];
            };
        };
        responses: {
            /** @description The receiver's response to a sample */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["IntegrationTest"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listDeadLetters: {
        parameters: { path: { integration_id: string; }; };
        responses: {
            /** @description Events that the receiver rejected permanently */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["DeadLetterList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    replayDeadLetters: {
        parameters: { path: { integration_id: string; }; };
        responses: {
            /** @description The result of sending dead letters again */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Redelivery"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    listBackups: {
        parameters: {
        };
        responses: {
            /** @description The latest backups, newest first */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["BackupList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createBackup: {
        parameters: {
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewBackup"];
            };
        };
        responses: {
            /** @description A backup of the whole installation */
            202: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Backup"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["InsufficientStorage"];
        };
    };
    getBackup: {
        parameters: { path: { backup_id: string; }; };
        responses: {
            /** @description A backup of the whole installation */
            200: {
                headers: { [name: string]: unknown; };
                content: {
                    "application/json": components["schemas"]["Backup"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
}
