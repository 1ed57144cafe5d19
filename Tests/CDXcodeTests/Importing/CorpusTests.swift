import CDModel
import CDSchema
import CDXcode
import Foundation
import Testing

/// Real models of other projects, which are no part of this one: `CDGEN_CORPUS` names the folder that has them.
@Suite("Real models")
struct CorpusTests {
  private static let folder = ProcessInfo.processInfo.environment["CDGEN_CORPUS"]

  /// Each version alone, for its order is nothing that this needs.
  @Test(.enabled(if: folder != nil, "CDGEN_CORPUS names no folder of models; they are not looked at"))
  func everyVersionIsImportedAndReadBack() throws {
    let root = URL(filePath: try #require(Self.folder))
    let paths = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
    var count = 0
    for case let url as URL in paths
    where url.lastPathComponent == "contents" && url.path.contains(".xcdatamodel") {
      let bundle = try XcodeBundle(contentsOf: url.deletingLastPathComponent().path)
      let result = XcodeImporter(bundle).run(id: UUID())
      let model = try #require(result.model, "\(url.path): \(result.diagnostics)")
      let loaded = ModelLoader.load(name: model.name, files: result.files.mapValues { Array($0.utf8) })
      #expect(
        loaded.unprovenModel == model, "\(url.path): \(loaded.diagnostics.filter { $0.severity == .error })")
      count += 1
    }
    #expect(count > 0)
  }
}
