import Foundation
import Testing

@testable import CDRuntime

/// The large values of a migration that was interrupted.
@Suite(.onlyOnSQLite("its migrations")) struct NewExternalFilesTests {
  private static let part = UUID()

  /// Merged models always have version 1, and their hash may stay when a part is migrated.
  @Test(arguments: [1, 2]) func theyStayIfTheNewStoreIsThere(_ version: Int) throws {
    let fixture = try MigrationFixture()
    try fixture.create([MigrationFixture.version(1, [entity("Note", [attribute("text", .string)])])])
    let connection = try SQLiteConnection(path: fixture.url.path, of: [fixture.url])
    var metadata = try StoreMetadata(connection, url: fixture.url)
    metadata.partVersions = [Self.part: 1]
    let new = NewExternalFiles(of: fixture.url, metadata)
    let name = UUID().uuidString
    try new.willWrite([name])
    let files = ExternalFiles(store: fixture.url)
    try files.write(Data([1]), name: name)
    metadata.partVersions = [Self.part: version]
    try metadata.write(to: connection)
    try NewExternalFiles.recover(fixture.url, connection)
    #expect(files.exists(name) == (version == 2))
    #expect(!NewExternalFiles.hasLeftovers(fixture.url))
  }
}
