import CDRuntime
import Foundation

extension ToDo {
  /// A short name for people: the number at the end of the identifier's URI. It stays the same for good.
  var number: String {
    String(objectID.uriRepresentation.lastPathComponent.drop { !$0.isNumber })
  }

  /// The one with a number, or else with a name: a to-do whose name is a number hides nobody, for it has a
  /// number of its own.
  ///
  /// - Throws: ``Problem`` where there is none, or where several have the name.
  static func find(_ text: String, in context: ManagedObjectContext) throws -> ToDo {
    if let numbered = try ToDo.objects(in: context).first(where: { $0.number == text }) { return numbered }
    let named = try ToDo.objects(matching: \.name, text, in: context)
    if let only = named.first, named.count == 1 { return only }
    if named.count > 1 {
      let numbers = named.map(\.number).joined(separator: ", ")
      throw Problem("\(named.count) to-dos are named '\(text)'; say which by its number: \(numbers)")
    }
    throw Problem("there is no to-do '\(text)'; 'todo list --all' shows all")
  }
}

extension Category {
  /// - Throws: ``Problem`` where there is none of the name.
  static func find(_ name: String, in context: ManagedObjectContext) throws -> Category {
    if let category = try Category.object(name: name, in: context) { return category }
    throw Problem("there is no category '\(name)'; 'todo category add \(name)' makes it")
  }
}
