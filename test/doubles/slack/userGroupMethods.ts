import type { Methods } from './methods.ts'

export const userGroupMethods: Methods = {
  'usergroups.list': {
    tier: 2,
    scope: 'usergroups:read',
    args: ['include_users', 'include_count', 'include_disabled'],
    run: (args, { world }) => ({
      usergroups: [...world.userGroups].map(([id, users]) => ({
        id,
        team_id: world.app.teamId,
        is_usergroup: true,
        name: id,
        handle: id.toLowerCase(),
        date_delete: 0,
        ...(args.include_users ? { users: [...users] } : {}),
      })),
    }),
  },
}
