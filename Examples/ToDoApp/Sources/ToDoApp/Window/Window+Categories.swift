import CDRuntime
import Foundation

/// The panel of categories.
extension Window {
  func panel() throws -> Panel {
    if let panel = try Panel.first(in: context) { return panel }
    return Panel(in: context)
  }

  func addCategory(_ text: String) throws -> [FieldError] {
    let category = Category(name: text.trimmingCharacters(in: .whitespaces), in: context)
    try panel().addToCategories(category)
    let errors = try mistakes(of: category)
    if errors.isEmpty { name("Add Category “\(category.name)”") } else { category.delete() }
    return errors
  }

  func renameCategory(_ id: ManagedObjectID, _ text: String) throws -> [FieldError] {
    let category = try Category.object(with: id, in: context)
    let (former, shown) = (category.name, category.shownName)
    category.name = text.trimmingCharacters(in: .whitespaces)
    let errors = try mistakes(of: category)
    if errors.isEmpty { name("Rename “\(shown)”") } else { category.name = former }
    return errors.map { FieldError($0.text, field: Self.field(of: id)) }
  }

  /// The field of a category in the panel.
  private static func field(of id: ManagedObjectID) -> String { "\(id.domID)-name" }

  /// The rules that a category breaks. The save would find a name that is taken, but the person should learn of it now.
  private func mistakes(of category: Category) throws -> [FieldError] {
    let name = category.name
    let others = try Category.objects(matching: \.name, name, in: context).filter { $0 != category }
    if let error = context.validationErrors(of: category).first { return [FieldError(error)] }
    return others.isEmpty ? [] : [FieldError("There is a category “\(name)” already.", field: "name")]
  }

  func moveCategory(_ id: ManagedObjectID, to index: Int) throws {
    let category = try Category.object(with: id, in: context)
    let panel = try panel()
    guard let old = panel.categories.firstIndex(of: category) else { return }
    panel.removeFromCategories(category)
    let new = max(0, min(index, panel.categories.count))
    panel.insertIntoCategories(category, at: new)
    name("Move “\(category.shownName)” \(new < old ? "Up" : "Down")")
  }

  static func uses(_ count: Int) -> String { "\(items(count)) \(count == 1 ? "uses" : "use") it" }

  /// Deletes a category, unless items use it. The rule `deny` of the model refuses that at the save. Asking for the
  /// count first tells the person at once, and lets the deletion be one that can be saved.
  func deleteCategory(_ id: ManagedObjectID) throws -> [FieldError] {
    let category = try Category.object(with: id, in: context)
    let count = try ToDo.count(where: \.category == category, in: context)
    guard count == 0 else {
      return [
        FieldError(
          "“\(category.shownName)” cannot be removed: \(Self.uses(count)).", field: Self.field(of: id))
      ]
    }
    if query.category == id { query.category = nil }
    let former = category.shownName
    category.delete()
    name("Remove Category “\(former)”")
    return []
  }
}
