import CDGenerator
import CDModel
import Foundation
import Testing

/// A file imports the modules that the types of its codable attributes may need.
@Suite struct ImportListTests {
  /// The imports in the file of a class with one codable attribute.
  private func imports(_ modules: [String], for type: String, perEntity: Bool) throws -> [String] {
    let user = EntityDescription(
      name: "User",
      attributes: [AttributeDescription(name: "own", type: .codable(type: type, codec: 1), isOptional: true)])
    let model = ManagedObjectModel(
      name: "Users", id: UUID(), imports: modules, versions: [ModelVersion(number: 1, entities: [user])],
      currentVersionNumber: 1)
    let files = try Generator(options: .init(access: .public, perEntity: perEntity)).generate(model)
    let file = try #require(files.first { $0.contents.contains(" class User: ") })
    return file.contents.split(separator: "\n").filter { $0.hasPrefix("public import ") }
      .map { String($0.dropFirst("public import ".count)) }
  }

  @Test(arguments: [false, true])
  func aNestedTypeMayComeFromEachModule(perEntity: Bool) throws {
    for type in ["Profile.Settings", "[Profile.Settings]", "Settings"] {
      #expect(try imports(["Accounts", "Kit"], for: type, perEntity: perEntity) == ["Accounts", "Kit"])
    }
  }

  @Test(arguments: [false, true])
  func aQualifiedTypeComesFromItsModule(perEntity: Bool) throws {
    let modules = ["Accounts", "Kit.Types"]
    #expect(try imports(modules, for: "Accounts.Profile.Settings", perEntity: perEntity) == ["Accounts"])
    #expect(try imports(modules, for: "[Kit.Settings]", perEntity: perEntity) == ["Kit.Types"])
    #expect(try imports(modules, for: "Swift.Int", perEntity: perEntity) == [])
    #expect(try imports(modules, for: "Foundation.UUID", perEntity: perEntity) == ["Foundation"])
  }

  @Test func aTypeInATypeOfFoundationNeedsFoundation() throws {
    #expect(try imports([], for: "Date.FormatStyle", perEntity: false) == ["Foundation"])
    #expect(try imports(["Kit"], for: "Date.FormatStyle", perEntity: false) == ["Foundation"])
  }
}
