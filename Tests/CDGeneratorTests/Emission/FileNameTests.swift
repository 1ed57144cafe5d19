import CDGenerator
import CDModel
import Foundation
import Testing

@Suite struct FileNameTests {
  /// On a file system that ignores case, one of two such files would replace the other.
  @Test func filesOfEntitiesDifferInMoreThanCase() throws {
    let entities = [("Shop", "Shop"), ("X", "shop"), ("Y", "shop_"), ("Z", "cornerModel")].map {
      EntityDescription(name: $0, className: $1)
    }
    let model = ManagedObjectModel(
      name: "Corner", id: UUID(), versions: [ModelVersion(number: 1, entities: entities)],
      currentVersionNumber: 1)
    let files = try Generator(options: .init(perEntity: true)).generate(model)
    #expect(
      files.map(\.name) == [
        "CornerModel+Generated.swift", "Shop+Generated.swift", "shop_+Generated.swift",
        "shop__+Generated.swift", "cornerModel_+Generated.swift",
      ])
  }
}
