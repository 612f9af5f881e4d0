// skills: instructions that the host keeps in files (G11). A cell sees them as they were when it began.

function readSkill(name) {
  if (typeof name !== "string") return refuse(new NativeTypeError("skills.read: the name must be a string, one of skills.list()"));
  return request("skills.read", '{"name":' + quote(name) + "}", new NativeError());
}

function installSkills(features) {
  if (features.skills !== true) return;
  const members = [
    ["list", expose("list", 0, () => request("skills.list", "{}", new NativeError()))],
    ["read", expose("read", 1, readSkill)],
  ];
  if (features.skillSearch === true) {
    setField(members, members.length, ["search", expose("search", 2, partial(requestSearch, undefined, "skills.search", "skills.search"))]);
  }
  constant(global, "skills", sealed("skills", members), false);
}
