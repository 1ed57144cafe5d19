import CDConsole
import CDRuntime
import Foundation

extension ToDo {
  /// A short identifier for people: the number at the end of the identifier's URI. It never changes.
  var number: String {
    String(objectID.uriRepresentation.lastPathComponent.drop { !$0.isNumber })
  }

  /// Finds a to-do by its number, or else by its name. A to-do whose name is a number cannot hide another one, because
  /// each has its own number.
  ///
  /// - Throws: ``Failure`` if there is no such to-do, or if several have the name.
  static func find(_ text: String, in context: ManagedObjectContext) throws -> ToDo {
    let text = Name.trimmed(text)
    if let numbered = try ToDo.objects(in: context).first(where: { $0.number == text }) { return numbered }
    let named = try ToDo.objects(matching: \.name, text, in: context)
    if let only = named.first, named.count == 1 { return only }
    if named.count > 1 {
      let numbers = named.map(\.number).joined(separator: ", ")
      throw Failure("\(named.count) to-dos are named '\(text)'; say which by its number: \(numbers)")
    }
    throw Failure("there is no to-do '\(text)'; 'todo list --all' shows all")
  }
}

extension Category {
  /// - Throws: ``Failure`` if there is no category with the name.
  static func find(_ name: String, in context: ManagedObjectContext) throws -> Category {
    let name = Name.trimmed(name)
    if let category = try Category.object(name: name, in: context) { return category }
    throw Failure("there is no category '\(name)'; 'todo category add \(name)' makes it")
  }
}
