import CDModel
import SampleModels
import Testing

@Suite("What each change alters")
struct HashChangeTests {
  @Test(arguments: HashChange.all)
  func `A change alters exactly its hashes`(change: HashChange) throws {
    let before = try SampleModel.version()
    var after = before
    try change.make(&after)
    try #require(after != before, "the change does something")
    let (old, new) = (before.hashes, after.hashes)
    var altered: Set<HashChange.Part> = []
    if old.data != new.data { altered.insert(.data) }
    if old.layout != new.layout { altered.insert(.layout) }
    if old.definition != new.definition { altered.insert(.definition) }
    #expect(altered == change.alters)
    // The configuration that lists all entities follows the version.
    if before.entities.map(\.name) == after.entities.map(\.name),
      before.configurations == after.configurations
    {
      #expect(new.configurations["All"] == new.data)
    }
  }
}
