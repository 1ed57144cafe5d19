import CDGenerator
import CDModel
import Foundation
import Testing

/// Defaults that are expensive to create are private static properties.
@Suite struct SharedDefaultTests {
  @Test func namesThatDifferInTheCaseOfTheFirstLetterHaveDefaultsOfTheirOwn() throws {
    func attribute(_ name: String, _ swiftName: String) -> AttributeDescription {
      AttributeDescription(
        name: name, type: .decimal, defaultValue: .value(.decimal(Decimal(1))), propertyName: swiftName)
    }
    let bill = EntityDescription(
      name: "Bill", attributes: [attribute("a", "amount"), attribute("b", "Amount"), attribute("c", "total")])
    let model = ManagedObjectModel(
      name: "Bills", id: UUID(), versions: [ModelVersion(number: 1, entities: [bill])],
      currentVersionNumber: 1)
    let file = try #require(try Generator(options: Generator.Options()).generate(model).first)
    for name in ["_default_amount", "_default_Amount", "_defaultTotal"] {
      #expect(file.contents.components(separatedBy: "private static let \(name): ").count == 2)
      #expect(file.contents.contains(" = Bill.\(name)\n"))
    }
  }

  /// Other files import Foundation with the level of the declarations.
  @Test func aPrivateDefaultImportsFoundationWithoutTheLevelOfTheDeclarations() throws {
    for access in AccessLevel.allCases {
      let options = Generator.Options(access: access, perEntity: true)
      let files = try ReferenceCase(name: "PerEntity").generate(options)
      let file = try #require(files.first(where: { $0.name == "PerEntityPot+Generated.swift" }))
      #expect(file.contents.contains("\nimport Foundation\n"))
      #expect(!file.contents.contains(" import Foundation\n"))
    }
  }
}
